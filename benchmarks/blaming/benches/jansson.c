#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "jansson.h"

int main(void)
{
    size_t sum = 0;
    char key[32];
    json_object_seed(1);
    for (int round = 0; round < 2; round++) {
        json_t *whole = json_object(), *list = json_array();
        for (int i = 0; i < 300; i++) {
            snprintf(key, sizeof key, "key %d", i * 7919 % 1000);
            json_object_set_new(whole, key, json_pack("{s:i, s:s, s:f, s:[b, n]}", "id", i, "name", "item \"x\"\n\xc3\xa9", "price", i / 4.0, "on", i % 2));
            json_array_append_new(list, json_integer(i));
        }
        for (int i = 0; i < 200; i++)
            json_array_insert_new(list, i % 9, json_string("inserted"));
        json_object_set(whole, "list", list);
        for (int i = 0; i < 4000; i++) {
            snprintf(key, sizeof key, "key %d", i % 1000);
            json_t *one = json_object_get(whole, key);
            int id;
            if (one && !json_unpack(one, "{s:i}", "id", &id))
                sum += id;
        }
        char *said = json_dumps(whole, JSON_INDENT(2) | JSON_SORT_KEYS), *plain = json_dumps(whole, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_SORT_KEYS);
        json_t *again = json_loads(said, 0, NULL), *copy = json_deep_copy(again);
        sum += json_equal(again, copy) + strlen(said) + strlen(plain);
        json_object_update_recursive(copy, whole);
        for (int i = 0; i < 100; i++) {
            snprintf(key, sizeof key, "key %d", i);
            json_object_del(copy, key);
        }
        free(said);
        free(plain);
        json_decref(list);
        json_decref(whole);
        json_decref(again);
        json_decref(copy);
    }
    printf("%zu\n", sum);
    return 0;
}
