/* The counter in C: what perfvcs_counter.py does in Python, with the same trees, some ten times as fast.

   begin(meter, describe) counts in the calling thread: meter 0 are bytecode instructions, 1 is the thread's processor time in nanoseconds;
   describe(function) names a function of C. count(code, offset) is for sys.monitoring, which from Python 3.12 on tells instructions.
   trees() is what was counted: per thread (names, parents, entered, again, amounts). */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#if PY_VERSION_HEX < 0x030A0000
static inline PyObject *Py_NewRef(PyObject *object)
{
    Py_INCREF(object);
    return object;
}
#endif

#define MOST_NODES 1000000 /* of a thread; beyond, new functions count in their callers */
#define MOST_WRAPPED 4
#define LONG_SPAN 50000 /* nanoseconds; what waits for a processor waits longer */

typedef struct {
    const void *key;
    PyObject *name; /* a code object, or what describe() said */
    int parent;
    int64_t entered, again, amount;
} Node;

typedef struct Tree {
    Node *nodes;
    int count, room;
    int *table; /* (parent, key) -> node + 1, open addressing */
    unsigned size, used;
    int *edges_parent, *edges_node;
    const void **edges_key;
    int *stack;
    int depth, deepest;
    int current;
    int64_t last, cost; /* of asking the clock, which is in every span */
    int64_t wall, busy; /* when waiting was last corrected */
    int meter;
    struct Tree *next;
} Tree;

static Tree *all_trees;
static PyObject *describe, *trace_opcodes, *trace_lines;
static _Thread_local int64_t executed;

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t spent(const Tree *tree)
{
    return tree->meter ? nanoseconds(CLOCK_MONOTONIC) : executed;
}

/* The thread's own clock takes a system call. So spans are taken by the other one, and only those in which the thread may have waited for a
   processor are corrected: by what both clocks say of the time since the last correction. */
static int64_t corrected(Tree *tree, int64_t now, int64_t span)
{
    if (span < LONG_SPAN)
        return span;
    int64_t busy = nanoseconds(CLOCK_THREAD_CPUTIME_ID), waited = now - tree->wall - (busy - tree->busy);
    tree->wall = now;
    tree->busy = busy;
    return waited > 0 ? (waited < span ? span - waited : 0) : span;
}

static unsigned place_of(const Tree *tree, int parent, const void *key)
{
    uint64_t hash = ((uint64_t)(uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u ^ (uint64_t)(unsigned)parent * 0xC2B2AE3D27D4EB4Fu;
    hash ^= hash >> 29;
    return (unsigned)hash & (tree->size - 1);
}

static int enlarge(Tree *tree)
{
    unsigned size = tree->size ? 2 * tree->size : 1024;
    int *table = calloc(size, sizeof *table);
    int *parents = realloc(tree->edges_parent, size * sizeof *parents);
    if (parents)
        tree->edges_parent = parents;
    int *nodes = realloc(tree->edges_node, size * sizeof *nodes);
    if (nodes)
        tree->edges_node = nodes;
    const void **keys = realloc(tree->edges_key, size * sizeof *keys);
    if (keys)
        tree->edges_key = keys;
    if (!table || !parents || !nodes || !keys) {
        free(table);
        return -1;
    }
    free(tree->table);
    tree->table = table;
    tree->size = size;
    for (unsigned edge = 0; edge < tree->used; edge++) {
        unsigned place = place_of(tree, tree->edges_parent[edge], tree->edges_key[edge]);
        while (tree->table[place])
            place = (place + 1) & (size - 1);
        tree->table[place] = (int)edge + 1;
    }
    return 0;
}

/* The node in which a function goes on that is entered again on its own path, 0 where it is not. What wraps others (functions of C that call
   back, nested functions such as decorators make) is on a path for many reasons, and goes on only in itself or when it is there often. */
static int above(const Tree *tree, const void *key, int wraps)
{
    int node = tree->current, times = 0;
    if (wraps && tree->nodes[node].key == key)
        return node;
    for (; node > 0; node = tree->nodes[node].parent)
        if (tree->nodes[node].key == key && (!wraps || ++times == MOST_WRAPPED))
            return node;
    return 0;
}

/* The node for a function below the current one: a new one, or its own above where it is entered again. */
static int child(Tree *tree, const void *key, PyObject *code, PyObject *function)
{
    unsigned place = place_of(tree, tree->current, key);
    for (int edge; (edge = tree->table[place]); place = (place + 1) & (tree->size - 1))
        if (tree->edges_key[edge - 1] == key && tree->edges_parent[edge - 1] == tree->current)
            return tree->edges_node[edge - 1];
    int node = above(tree, key, !code || ((PyCodeObject *)code)->co_flags & CO_NESTED);
    if (node <= 0 && tree->count < MOST_NODES) {
        if (tree->count == tree->room) {
            Node *nodes = realloc(tree->nodes, 2 * (size_t)tree->room * sizeof *nodes);
            if (!nodes)
                return -1;
            tree->nodes = nodes;
            tree->room *= 2;
        }
        PyObject *name = code ? Py_NewRef(code) : PyObject_CallOneArg(describe, function);
        if (!name)
            return -1;
        node = tree->count++;
        tree->nodes[node] = (Node){.key = key, .name = name, .parent = tree->current};
    } else if (node <= 0)
        node = tree->current;
    if (2 * (tree->used + 1) > tree->size && enlarge(tree))
        return -1;
    place = place_of(tree, tree->current, key);
    while (tree->table[place])
        place = (place + 1) & (tree->size - 1);
    tree->edges_parent[tree->used] = tree->current;
    tree->edges_key[tree->used] = key;
    tree->edges_node[tree->used] = node;
    tree->table[place] = (int)++tree->used;
    return node;
}

static int enter(Tree *tree, int node)
{
    if (node < 0) {
        PyErr_Clear();
        node = tree->current;
    }
    if (tree->depth == tree->deepest) {
        int *stack = realloc(tree->stack, 2 * (size_t)tree->deepest * sizeof *stack);
        if (!stack)
            return -1;
        tree->stack = stack;
        tree->deepest *= 2;
    }
    tree->stack[tree->depth++] = tree->current;
    if (node > tree->current)
        tree->nodes[node].entered++;
    else
        tree->nodes[node].again++;
    tree->current = node;
    return 0;
}

static int profile(PyObject *object, PyFrameObject *frame, int what, PyObject *arg)
{
    Tree *tree = PyCapsule_GetPointer(object, NULL);
    if (!tree)
        return -1;
    int64_t now = spent(tree);
    tree->nodes[tree->current].amount += (tree->meter ? corrected(tree, now, now - tree->last) : now - tree->last) - tree->cost;
    int failed = 0;
    if (what == PyTrace_CALL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        failed = enter(tree, child(tree, code, (PyObject *)code, NULL));
        Py_DECREF(code);
    } else if (what == PyTrace_C_CALL) {
        const void *key = PyCFunction_Check(arg) ? (const void *)((PyCFunctionObject *)arg)->m_ml : (const void *)Py_TYPE(arg);
        failed = enter(tree, child(tree, key, NULL, arg));
    } else if (what == PyTrace_RETURN || what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION)
        tree->current = tree->depth ? tree->stack[--tree->depth] : 0;
    tree->last = tree->meter ? spent(tree) : executed;
    if (failed)
        PyErr_NoMemory();
    return failed;
}

#if PY_VERSION_HEX < 0x030C0000
static int trace(PyObject *object, PyFrameObject *frame, int what, PyObject *arg)
{
    (void)object, (void)arg;
    if (what == PyTrace_OPCODE)
        executed++;
    else if (what == PyTrace_CALL)
        return PyObject_SetAttr((PyObject *)frame, trace_opcodes, Py_True) | PyObject_SetAttr((PyObject *)frame, trace_lines, Py_False);
    return 0;
}
#endif

static PyObject *begin(PyObject *module, PyObject *args)
{
    int meter;
    PyObject *named;
    if (!PyArg_ParseTuple(args, "iO", &meter, &named))
        return NULL;
    (void)module;
    Tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        return PyErr_NoMemory();
    tree->room = 1024;
    tree->deepest = 1024;
    tree->nodes = calloc((size_t)tree->room, sizeof *tree->nodes);
    tree->stack = calloc((size_t)tree->deepest, sizeof *tree->stack);
    if (!tree->nodes || !tree->stack || enlarge(tree))
        return PyErr_NoMemory();
    tree->nodes[0] = (Node){.parent = -1, .entered = 1};
    tree->count = 1;
    tree->meter = meter;
    Py_XSETREF(describe, Py_NewRef(named));
    PyObject *capsule = PyCapsule_New(tree, NULL, NULL);
    if (!capsule)
        return NULL;
    tree->next = all_trees;
    all_trees = tree;
    executed = 0;
    tree->cost = INT64_MAX;
    for (int attempt = 0; attempt < 200; attempt++) {
        int64_t before = spent(tree), after = spent(tree);
        if (after - before < tree->cost)
            tree->cost = after - before;
    }
    tree->busy = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    tree->wall = tree->last = spent(tree);
    PyEval_SetProfile(profile, capsule);
#if PY_VERSION_HEX < 0x030C0000
    if (!meter)
        PyEval_SetTrace(trace, capsule);
#endif
    Py_DECREF(capsule);
    Py_RETURN_NONE;
}

static PyObject *end(PyObject *module, PyObject *args)
{
    (void)module, (void)args;
    PyEval_SetProfile(NULL, NULL);
#if PY_VERSION_HEX < 0x030C0000
    PyEval_SetTrace(NULL, NULL);
#endif
    Py_RETURN_NONE;
}

/* A forked process has its parent's trees, which it must not count again. */
static PyObject *forget(PyObject *module, PyObject *args)
{
    (void)module, (void)args;
    all_trees = NULL;
    Py_RETURN_NONE;
}

static PyObject *count(PyObject *module, PyObject *const *args, Py_ssize_t number)
{
    (void)module, (void)args, (void)number;
    executed++;
    Py_RETURN_NONE;
}

static PyObject *trees(PyObject *module, PyObject *args)
{
    (void)module, (void)args;
    PyObject *found = PyList_New(0);
    for (Tree *tree = all_trees; found && tree; tree = tree->next) {
        PyObject *columns[5] = {NULL};
        for (int column = 0; column < 5; column++) {
            if (!(columns[column] = PyList_New(tree->count)))
                return NULL;
            for (int node = 0; node < tree->count; node++) {
                const Node *one = &tree->nodes[node];
                int64_t numbers[5] = {0, one->parent, one->entered, one->again, one->amount};
                PyObject *value = column ? PyLong_FromLongLong(numbers[column]) : Py_NewRef(one->name ? one->name : Py_None);
                if (!value)
                    return NULL;
                PyList_SET_ITEM(columns[column], node, value);
            }
        }
        PyObject *row = Py_BuildValue("(NNNNN)", columns[0], columns[1], columns[2], columns[3], columns[4]);
        if (!row || PyList_Append(found, row))
            return NULL;
        Py_DECREF(row);
    }
    return found;
}

static PyMethodDef methods[] = {
    {"begin", begin, METH_VARARGS, NULL},
    {"end", end, METH_NOARGS, NULL},
    {"forget", forget, METH_NOARGS, NULL},
    {"count", (PyCFunction)(void (*)(void))count, METH_FASTCALL, NULL},
    {"trees", trees, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "perfvcs_counts", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_perfvcs_counts(void)
{
    trace_opcodes = PyUnicode_InternFromString("f_trace_opcodes");
    trace_lines = PyUnicode_InternFromString("f_trace_lines");
    return trace_opcodes && trace_lines ? PyModule_Create(&definition) : NULL;
}
