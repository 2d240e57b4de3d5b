#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cJSON.h"
#include "cJSON_Utils.h"

int main(void)
{
    static char text[200000];
    size_t length = 0, sum = 0;
    length += sprintf(text, "[");
    for (int i = 0; i < 150; i++)
        length += sprintf(text + length,
            "%s{\"id\": %d, \"name\": \"item \\\"%d\\\"\\n\", \"price\": %d.25e1, \"tags\": [\"a\", \"b\\u00e9\", \"%d\"], \"on\": %s, \"Sub\": {\"x\": null, \"Y\": -%d}}",
            i ? ", " : "", i, i, i, i % 7, i % 2 ? "true" : "false", i);
    sprintf(text + length, "]");
    for (int round = 0; round < 3; round++) {
        cJSON *whole = cJSON_Parse(text), *copy = cJSON_Duplicate(whole, 1), *one;
        sum += cJSON_Compare(whole, copy, 1);
        for (int i = 0; i < cJSON_GetArraySize(whole); i += 10) {
            one = cJSON_GetArrayItem(copy, i);
            sum += cJSON_GetObjectItem(one, "PRICE") != NULL;
            cJSON_ReplaceItemInObjectCaseSensitive(one, "id", cJSON_CreateNumber(i + 1));
            cJSON_AddItemToObject(one, "more", cJSON_CreateString("x"));
        }
        one = cJSON_GetArrayItem(copy, 3);
        cJSONUtils_SortObject(one);
        sum += cJSONUtils_GetPointer(copy, "/100/Sub/Y") != NULL;
        cJSON *patch = cJSONUtils_GeneratePatches(cJSON_GetArrayItem(whole, 20), cJSON_GetArrayItem(copy, 20));
        sum += cJSONUtils_ApplyPatches(cJSON_GetArrayItem(whole, 20), patch);
        char *said = cJSON_Print(copy), *plain = cJSON_PrintUnformatted(whole);
        cJSON_Minify(said);
        sum += strlen(said) + strlen(plain);
        free(said);
        free(plain);
        cJSON_Delete(patch);
        cJSON_Delete(copy);
        cJSON_Delete(whole);
    }
    printf("%zu\n", sum);
    return 0;
}
