/* Records calls of Python functions: what perfvcs_recorder.py does, as an extension module for the interpreter that is measured.

   Rows go into a file that is mapped into memory, so that they are there whichever way the process ends: by os._exit, exec or a signal.
   collectors/complexity/calls/recording.py has the format. All is done under the interpreter's lock. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUCKET_MARK (1u << 31)
#define UNFINISHED_MARK (1u << 30)
#define LOWEST (-16)
#define DOUBLINGS 80
#define BUCKETS (3 + 4 * DOUBLINGS)
#define WINDOW 393216 /* bytes; a multiple of the page and of a record */
#define HEADER 16

typedef struct {
    uint32_t function, thread;
    uint64_t number;
    double size, duration, cost, rate;
} Row;

typedef struct {
    Row *rows; /* the first is the head: it counts what was seen */
    uint32_t kept;
    uint64_t next; /* the call that replaces a kept one (algorithm L of Li 1994) */
    double weight;
} Bucket;

struct Handle;

typedef struct {
    PyObject_HEAD
    uint32_t index, place; /* place: its number in the threads' depths */
    int stored;            /* in the file, and not for the calibration */
    Row *open;
    Bucket *buckets;
    PyObject *guess; /* perfvcs_sizes.Guess, and what it chose for arguments of a type */
    PyTypeObject *kind;
    Py_ssize_t argument;
    struct Handle *live; /* generators and coroutines that have begun and not ended */
} Function;

typedef struct Handle {
    PyObject_HEAD
    Function *function;
    struct Handle *next, **link; /* in the list of those that live; link is NULL outside */
    PyFrameObject *frame;        /* borrowed, and only compared: it lives as long as the call */
    double size, cost, before;
    uint64_t first, start, taken, generation;
    int running, recorded;
} Handle;

typedef struct {
    Function *function;
    Handle *handle; /* borrowed: it is taken off the stack before it dies */
    double size, before;
    uint64_t start;
    int recorded;
} Entry;

typedef struct {
    Entry *stack;
    uint32_t *depth; /* calls that are running, by function */
    size_t top, room, functions;
    int held; /* while a size is computed, calls are not the program's */
    double spent; /* what recording took in this thread, in ns */
} Thread;

static __thread Thread *this_thread;
static pthread_key_t thread_key;
static Function **functions;
static uint32_t function_count;
static double inside, total;
static uint64_t generation, last, seed;
static uint32_t keep = 200;
static int outermost = 1;
static char folder[4096];
static char start_mark[64];
static char *window;
static size_t window_size, window_used;
static off_t file_size;
static int broken;

static inline uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static double uniform(void) /* in (0, 1]: xorshift64*, of our own so that the program's generator is left alone */
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (double)((seed * 2685821657736338717u >> 11) + 1) / 9007199254740992.0;
}

/* the file */

/* Open the file of this process, made at first; -1 where that fails. It is closed soon: a program may close what it did not open. */
static int open_file(void)
{
    char path[4400];
    uint32_t header[4] = {0, 0, 1, function_count};
    memcpy(header, "PVCSCALL", 8);
    snprintf(path, sizeof path, "%s/calls-%ld-%s.bin", folder, (long)getpid(), start_mark);
    int file = open(path, O_RDWR | O_CLOEXEC | (file_size ? 0 : O_CREAT | O_EXCL), 0600);
    if (file >= 0 && !file_size && write(file, header, HEADER) != HEADER) {
        close(file);
        return -1;
    }
    return file;
}

/* Have the next rows go into a file that is made for them. */
static void begin_file(void)
{
    window = NULL;
    file_size = 0;
    broken = 0;
}

/* Map more of the file; NULL where that fails. On a full disk writing into a hole would kill the program, hence fallocate. */
static char *map_file(size_t size)
{
    int file = open_file();
    if (file < 0)
        return NULL;
    char *found = MAP_FAILED;
    if (posix_fallocate(file, file_size, (off_t)size) == 0)
        found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, file_size);
    close(file);
    return found == MAP_FAILED ? NULL : found;
}

/* Zeroed room for some rows, aligned in the file as records are; NULL when there is none, after which no room is asked for. */
static Row *rows_in_file(size_t count)
{
    size_t needed = count * sizeof(Row);
    if (!broken && (!window || window_used + needed + sizeof(Row) > window_size)) {
        window_size = (needed + 2 * sizeof(Row) + WINDOW - 1) / WINDOW * WINDOW;
        window = map_file(window_size);
        broken = !window;
        file_size += (off_t)window_size;
        window_used = HEADER;
    }
    if (broken)
        return NULL;
    Row *found = (Row *)(window + window_used);
    window_used += needed;
    memset(found, 0, needed); /* the first write to a page of a file takes long: it is done where it is charged for */
    return found;
}

static Row *new_rows(const Function *function, size_t count)
{
    return function->stored ? rows_in_file(count) : calloc(count, sizeof(Row));
}

/* Count ns as spent on recording in this thread: what others spend meanwhile takes nothing of its time that they would not take anyway. */
static inline void account(double cost)
{
    if (this_thread)
        this_thread->spent += cost;
}

/* samples */

static unsigned bucket_of(double size)
{
    static const uint64_t quarters[3] = {0x306fe0a31b715ull, 0x6a09e667f3bcdull, 0xae89f995ad3adull}; /* of a doubling, as mantissas */
    uint64_t bits, mantissa;
    if (isnan(size))
        return 2;
    if (size <= 0)
        return size < 0;
    memcpy(&bits, &size, 8);
    int exponent = (int)(bits >> 52) - 1023 - LOWEST;
    mantissa = bits & 0xfffffffffffffull;
    exponent = exponent < 0 ? 0 : exponent >= DOUBLINGS ? DOUBLINGS - 1 : exponent;
    return 3 + 4 * (unsigned)exponent + (mantissa >= quarters[0]) + (mantissa >= quarters[1]) + (mantissa >= quarters[2]);
}

static void skip(Bucket *bucket)
{
    bucket->weight *= exp(log(uniform()) / keep);
    double over = floor(log(uniform()) / log1p(-bucket->weight));
    bucket->next += 1 + (over < 1e18 ? (uint64_t)over : (uint64_t)1e18);
}

static void add(Function *function, double size, uint64_t start, double duration, double cost)
{
    Bucket *bucket = &function->buckets[bucket_of(size)];
    if (!bucket->rows) {
        uint64_t begun = now();
        bucket->rows = new_rows(function, (size_t)keep + 1);
        account((double)(now() - begun));
        if (!bucket->rows)
            return;
        bucket->rows[0] = (Row){.function = BUCKET_MARK | function->index, .rate = 1};
        bucket->kept = 0;
        bucket->weight = 1;
        bucket->next = keep;
    }
    uint64_t seen = ++bucket->rows[0].number;
    Row *row;
    if (bucket->kept < keep) {
        row = &bucket->rows[++bucket->kept];
        if (bucket->kept == keep)
            skip(bucket);
    } else if (seen == bucket->next) {
        row = &bucket->rows[1 + (uint32_t)((1 - uniform()) * keep)];
        skip(bucket);
    } else {
        return;
    }
    row->function = function->index;
    row->number = start;
    row->size = size;
    row->duration = duration;
    row->cost = cost;
    row->rate = 1; /* last: before, the record counts as empty */
}

/* threads */

static void forget_thread(void *data)
{
    Thread *thread = data;
    free(thread->stack);
    free(thread->depth);
    free(thread);
}

static Thread *new_thread(void)
{
    this_thread = calloc(1, sizeof(Thread));
    if (this_thread)
        pthread_setspecific(thread_key, this_thread);
    else
        PyErr_NoMemory();
    return this_thread;
}

/* The thread that runs this; NULL with MemoryError. */
static inline Thread *running_thread(void)
{
    return this_thread ? this_thread : new_thread();
}

/* Room for one more entry of a function; NULL with MemoryError. */
static Entry *push(Function *function)
{
    Thread *thread = running_thread();
    if (!thread)
        return NULL;
    if (__builtin_expect(thread->top == thread->room, 0)) {
        size_t room = thread->room ? 2 * thread->room : 64;
        Entry *stack = realloc(thread->stack, room * sizeof(Entry));
        if (!stack)
            return (Entry *)PyErr_NoMemory();
        thread->stack = stack;
        thread->room = room;
    }
    if (__builtin_expect(function->place >= thread->functions, 0)) {
        uint32_t *depth = realloc(thread->depth, function_count * sizeof(uint32_t));
        if (!depth)
            return (Entry *)PyErr_NoMemory();
        memset(depth + thread->functions, 0, (function_count - thread->functions) * sizeof(uint32_t));
        thread->depth = depth;
        thread->functions = function_count;
    }
    Entry *entry = &thread->stack[thread->top++];
    entry->function = function;
    entry->handle = NULL;
    entry->recorded = !(thread->depth[function->place]++ && outermost) && !thread->held;
    return entry;
}

/* Take the newest entry of a function, or of a handle, off the stack with all above it: a signal's exception may have left some there. */
static int pop(const Function *function, const Handle *handle, Entry *found)
{
    Thread *thread = this_thread;
    if (!thread)
        return 0;
    for (size_t at = thread->top; at-- > 0;) {
        if (thread->stack[at].function != function || thread->stack[at].handle != handle)
            continue;
        *found = thread->stack[at];
        while (thread->top > at) {
            Entry *entry = &thread->stack[--thread->top];
            thread->depth[entry->function->place]--;
            if (entry->handle)
                entry->handle->running = 0;
        }
        return 1;
    }
    return 0;
}

/* probes of functions */

/* Whether the function of the running frame has another call going on below. */
static int goes_on(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    int found = 0;
    for (frame = frame ? PyFrame_GetBack(frame) : NULL; frame && !found;) {
        PyCodeObject *other = PyFrame_GetCode(frame);
        PyFrameObject *back = PyFrame_GetBack(frame);
        found = other == code;
        Py_DECREF(other);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    Py_XDECREF(code);
    return found;
}

/* Forget a call of which the handler of a signal left the entry behind, as is possible before Python 3.11: the next is no recursion. */
static void forget_interrupted(Function *function)
{
    Thread *thread = this_thread;
    Entry entry;
    if (!outermost || !thread || function->place >= thread->functions || thread->depth[function->place] != 1)
        return;
    uint64_t begun = now();
    if (!goes_on())
        pop(function, NULL, &entry);
    account((double)(now() - begun));
}

static int enter(PyObject *self, PyObject *size)
{
    double value = 0;
    if (PyFloat_CheckExact(size)) {
        value = PyFloat_AS_DOUBLE(size);
    } else if (size != self) { /* that is for a call which is not to be recorded */
        value = PyLong_CheckExact(size) ? PyLong_AsDouble(size) : PyFloat_AsDouble(size);
        if (value == -1.0 && PyErr_Occurred())
            return -1;
    }
    if (isinf(value)) {
        PyErr_Format(PyExc_ValueError, "%S is not a finite number", size);
        return -1;
    }
    forget_interrupted((Function *)self);
    Entry *entry = push((Function *)self);
    if (!entry)
        return -1;
    entry->recorded &= size != self;
    entry->size = value;
    entry->before = this_thread->spent;
    entry->start = now();
    return 0;
}

static int leave(PyObject *self)
{
    uint64_t end = now();
    Function *function = (Function *)self;
    Entry entry;
    if (pop(function, NULL, &entry) && entry.recorded) {
        last = end - entry.start;
        add(function, entry.size, entry.start, (double)last, this_thread->spent - entry.before + inside);
    }
    account(total);
    return 0;
}

/* function[None] = size starts a call (= function: one that is not recorded), and del function[None] ends it. */
static int set_item(PyObject *self, PyObject *key, PyObject *size)
{
    (void)key;
    return size ? enter(self, size) : leave(self);
}

static PyObject *enter_call(PyObject *self, PyObject *size)
{
    if (enter(self, size))
        return NULL;
    Py_RETURN_NONE;
}

/* The size of a call with these values of all parameters, where that is guessed: a length here, anything else by the guess itself. */
static PyObject *guess(PyObject *self, PyObject *const *values, Py_ssize_t count)
{
    Function *function = (Function *)self;
    Thread *thread = running_thread();
    if (!thread)
        return NULL;
    int held = thread->held;
    thread->held = 1;
    PyObject *found = NULL;
    if (function->argument < count && Py_TYPE(values[function->argument]) == function->kind) {
        Py_ssize_t length = PyObject_Size(values[function->argument]);
        if (length >= 0)
            found = PyFloat_FromDouble((double)length);
        else
            PyErr_Clear();
    }
    if (!found) {
        uint64_t begun = now();
        PyObject *arguments = PyTuple_New(count);
        for (Py_ssize_t at = 0; arguments && at < count; at++) {
            Py_INCREF(values[at]);
            PyTuple_SET_ITEM(arguments, at, values[at]);
        }
        found = arguments ? PyObject_CallObject(function->guess, arguments) : NULL;
        Py_XDECREF(arguments);
        account((double)(now() - begun));
    }
    thread->held = held;
    return found;
}

/* Remember what the guess chose: the length of an argument, as long as that is of this type; None: ask again. */
static PyObject *chosen(PyObject *self, PyObject *args)
{
    Function *function = (Function *)self;
    PyObject *kind;
    if (!PyArg_ParseTuple(args, "On", &kind, &function->argument))
        return NULL;
    Py_XDECREF(function->kind);
    function->kind = PyType_Check(kind) ? (PyTypeObject *)kind : NULL;
    Py_XINCREF(function->kind);
    Py_RETURN_NONE;
}

static PyObject *set_guess(PyObject *self, PyObject *guess)
{
    Py_INCREF(guess);
    ((Function *)self)->guess = guess;
    Py_RETURN_NONE;
}

/* generators and coroutines */

static PyTypeObject HandleType, IteratorType;

static int go_on(Handle *handle)
{
    if (handle->running)
        return 0;
    Entry *entry = push(handle->function);
    if (!entry)
        return -1;
    entry->handle = handle;
    handle->running = 1;
    handle->before = this_thread->spent;
    handle->start = now();
    return entry->recorded;
}

static void stand_still(Handle *handle)
{
    uint64_t end = now();
    Entry entry;
    if (!handle->running)
        return;
    handle->running = 0;
    handle->taken += end - handle->start;
    handle->cost += (this_thread ? this_thread->spent - handle->before : 0) + inside;
    pop(handle->function, handle, &entry);
    account(total);
}

static PyObject *begin(PyObject *self, PyObject *size)
{
    double value = PyFloat_AsDouble(size);
    if (value == -1.0 && PyErr_Occurred())
        return NULL;
    Handle *handle = PyObject_New(Handle, &HandleType);
    if (!handle)
        return NULL;
    Py_INCREF(self);
    handle->function = (Function *)self;
    handle->size = value;
    handle->cost = 0;
    handle->taken = 0;
    handle->running = handle->recorded = 0;
    handle->link = NULL;
    return (PyObject *)handle;
}

static void unlink_handle(Handle *handle)
{
    if (!handle->link)
        return;
    *handle->link = handle->next;
    if (handle->next)
        handle->next->link = handle->link;
    handle->link = NULL;
}

static void handle_dealloc(PyObject *self)
{
    stand_still((Handle *)self);
    unlink_handle((Handle *)self);
    Py_DECREF(((Handle *)self)->function);
    PyObject_Free(self);
}

static PyObject *handle_enter(PyObject *self, PyObject *unused)
{
    Handle *handle = (Handle *)self;
    Function *function = handle->function;
    (void)unused;
    int recorded = go_on(handle);
    if (recorded < 0)
        return NULL;
    handle->frame = PyEval_GetFrame();
    handle->next = function->live;
    handle->link = &function->live;
    if (handle->next)
        handle->next->link = &handle->next;
    function->live = handle;
    handle->recorded = recorded;
    handle->first = handle->start;
    handle->generation = generation;
    if (recorded) {
        if (!function->open && (function->open = new_rows(function, 1)))
            *function->open = (Row){.function = UNFINISHED_MARK | function->index, .rate = 1};
        if (function->open)
            function->open->number++;
    }
    Py_RETURN_NONE;
}

static PyObject *handle_exit(PyObject *self, PyObject *error)
{
    Handle *handle = (Handle *)self;
    Function *function = handle->function;
    stand_still(handle);
    unlink_handle(handle);
    if (handle->recorded && handle->generation == generation && PyTuple_GET_ITEM(error, 0) != PyExc_GeneratorExit) {
        if (function->open)
            function->open->number--;
        add(function, handle->size, handle->first, (double)handle->taken, handle->cost);
    }
    Py_RETURN_NONE;
}

static PyObject *handle_resume(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (go_on((Handle *)self) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *handle_pause(PyObject *self, PyObject *unused)
{
    (void)unused;
    stand_still((Handle *)self);
    Py_RETURN_NONE;
}

static PyMethodDef handle_methods[] = {
    {"__enter__", handle_enter, METH_NOARGS, NULL},
    {"__exit__", handle_exit, METH_VARARGS, NULL},
    {"resume", handle_resume, METH_NOARGS, NULL},
    {"pause", handle_pause, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject HandleType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "perfvcs_tracer.Handle",
    .tp_basicsize = sizeof(Handle),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = handle_dealloc,
    .tp_methods = handle_methods,
};

/* The handle of the call that runs. One into which an exception was thrown where it had yielded stands still: its frame tells it. */
static Handle *running_handle(PyObject *self)
{
    Function *function = (Function *)self;
    Thread *thread = this_thread;
    Handle *found = NULL;
    PyFrameObject *frame = PyEval_GetFrame();
    if (thread && thread->top) {
        Entry *top = &thread->stack[thread->top - 1];
        if (top->function == function && top->handle && top->handle->frame == frame)
            return top->handle;
    }
    Py_XINCREF(frame);
    while (frame && !found) { /* an asynchronous comprehension has a frame of its own before Python 3.12 */
        for (found = function->live; found && found->frame != frame;)
            found = found->next;
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    if (!found)
        PyErr_SetString(PyExc_RuntimeError, "perfvcs: no call of this function is running");
    return found && go_on(found) < 0 ? NULL : found;
}

static PyObject *current(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *found = (PyObject *)running_handle(self);
    Py_XINCREF(found);
    return found;
}

static PyObject *pause_call(PyObject *self, PyObject *value)
{
    Handle *handle = running_handle(self);
    if (!handle)
        return NULL;
    stand_still(handle);
    Py_INCREF(value);
    return value;
}

/* what a generator or coroutine waits for: see perfvcs_awaits.Iterator */

typedef struct {
    PyObject_HEAD
    Handle *handle;
    PyObject *inner;
} Iterator;

static PyObject *given(Iterator *self, PyObject *value)
{
    if (value)
        stand_still(self->handle);
    return value;
}

static PyObject *iterator_next(PyObject *object)
{
    Iterator *self = (Iterator *)object;
    if (go_on(self->handle) < 0)
        return NULL;
    return given(self, Py_TYPE(self->inner)->tp_iternext(self->inner));
}

static PyObject *iterator_send(PyObject *object, PyObject *value)
{
    Iterator *self = (Iterator *)object;
    if (go_on(self->handle) < 0)
        return NULL;
    return given(self, PyObject_CallMethod(self->inner, "send", "O", value));
}

static PyObject *iterator_throw(PyObject *object, PyObject *error)
{
    Iterator *self = (Iterator *)object;
    if (go_on(self->handle) < 0)
        return NULL;
    PyObject *method = PyObject_GetAttrString(self->inner, "throw");
    if (method) {
        PyObject *value = PyObject_CallObject(method, error);
        Py_DECREF(method);
        return given(self, value);
    }
    PyErr_Clear();
    PyObject *kind = PyTuple_Size(error) ? PyTuple_GET_ITEM(error, 0) : PyExc_TypeError;
    if (PyTuple_Size(error) > 1 && PyTuple_GET_ITEM(error, 1) != Py_None)
        PyErr_SetObject(kind, PyTuple_GET_ITEM(error, 1));
    else if (PyExceptionInstance_Check(kind))
        PyErr_SetObject((PyObject *)Py_TYPE(kind), kind);
    else
        PyErr_SetNone(kind);
    return NULL;
}

static PyObject *iterator_close(PyObject *object, PyObject *unused)
{
    Iterator *self = (Iterator *)object;
    (void)unused;
    if (go_on(self->handle) < 0)
        return NULL;
    PyObject *method = PyObject_GetAttrString(self->inner, "close");
    if (!method) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    PyObject *done = PyObject_CallObject(method, NULL);
    Py_DECREF(method);
    return done;
}

static int iterator_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((Iterator *)object)->inner);
    return 0;
}

static int iterator_clear(PyObject *object)
{
    Py_CLEAR(((Iterator *)object)->inner);
    return 0;
}

static void iterator_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    iterator_clear(object);
    Py_DECREF(((Iterator *)object)->handle);
    PyObject_GC_Del(object);
}

static PyMethodDef iterator_methods[] = {
    {"send", iterator_send, METH_O, NULL},
    {"throw", iterator_throw, METH_VARARGS, NULL},
    {"close", iterator_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyAsyncMethods iterator_async = {.am_await = PyObject_SelfIter};

static PyTypeObject IteratorType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "perfvcs_tracer.Iterator",
    .tp_basicsize = sizeof(Iterator),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_dealloc = iterator_dealloc,
    .tp_traverse = iterator_traverse,
    .tp_clear = iterator_clear,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = iterator_next,
    .tp_as_async = &iterator_async,
    .tp_methods = iterator_methods,
};

static PyObject *iterator(PyObject *module, PyObject *args)
{
    PyObject *handle, *inner;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!O", &HandleType, &handle, &inner))
        return NULL;
    if (!PyIter_Check(inner))
        return PyErr_Format(PyExc_TypeError, "__await__() returned non-iterator of type '%.100s'", Py_TYPE(inner)->tp_name);
    Iterator *found = PyObject_GC_New(Iterator, &IteratorType);
    if (!found)
        return NULL;
    Py_INCREF(handle);
    Py_INCREF(inner);
    found->handle = (Handle *)handle;
    found->inner = inner;
    PyObject_GC_Track(found);
    return (PyObject *)found;
}

/* the module */

static PyMappingMethods function_items = {.mp_ass_subscript = set_item};

static PyTypeObject FunctionType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "perfvcs_tracer.Function",
    .tp_basicsize = sizeof(Function),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_as_mapping = &function_items,
};

static PyMethodDef probe_methods[] = {
    {"enter", enter_call, METH_O, NULL},
    {"begin", begin, METH_O, NULL},
    {"pause", pause_call, METH_O, NULL},
    {"current", current, METH_NOARGS, NULL},
    {"set_guess", set_guess, METH_O, NULL},
    {"chosen", chosen, METH_VARARGS, NULL},
    {"guess", (PyCFunction)(void (*)(void))guess, METH_FASTCALL, NULL},
};
#define PROBES (Py_ssize_t)(sizeof probe_methods / sizeof *probe_methods)

/* A dictionary of the parts of a function with this number; stored: its rows go into the file. It lives for ever. */
static PyObject *probe(PyObject *module, PyObject *args)
{
    unsigned index;
    int stored;
    (void)module;
    if (!PyArg_ParseTuple(args, "Ip", &index, &stored))
        return NULL;
    Function **longer = realloc(functions, (function_count + 1) * sizeof *functions);
    Function *function = longer ? PyObject_New(Function, &FunctionType) : NULL;
    if (longer)
        functions = longer;
    if (!function)
        return PyErr_NoMemory();
    function->index = index;
    function->place = function_count;
    function->stored = stored;
    function->open = NULL;
    function->guess = NULL;
    function->kind = NULL;
    function->argument = 0;
    function->live = NULL;
    function->buckets = calloc(BUCKETS, sizeof(Bucket));
    if (!function->buckets)
        return PyErr_NoMemory();
    functions[function_count++] = function;
    PyObject *found = PyDict_New();
    if (found && PyDict_SetItemString(found, "function", (PyObject *)function) < 0)
        Py_CLEAR(found);
    for (Py_ssize_t number = 0; found && number < PROBES; number++) {
        PyObject *one = PyCFunction_New(&probe_methods[number], (PyObject *)function);
        if (!one || PyDict_SetItemString(found, probe_methods[number].ml_name, one) < 0)
            Py_CLEAR(found);
        Py_XDECREF(one);
    }
    return found;
}

static void forked(void)
{
    generation++;
    begin_file(); /* the other one is the parent's */
    seed ^= (uint64_t)getpid() << 32 ^ now();
    for (uint32_t number = 0; number < function_count; number++) {
        if (functions[number]->stored) {
            functions[number]->open = NULL;
            memset(functions[number]->buckets, 0, BUCKETS * sizeof(Bucket));
        }
    }
    for (size_t at = 0; this_thread && at < this_thread->top; at++)
        this_thread->stack[at].recorded = 0; /* these calls are the parent's */
}

static PyObject *configure(PyObject *module, PyObject *args)
{
    const char *place, *mark;
    (void)module;
    if (!PyArg_ParseTuple(args, "ssIp", &place, &mark, &keep, &outermost))
        return NULL;
    if (strlen(place) >= sizeof folder || strlen(mark) >= sizeof start_mark)
        return PyErr_Format(PyExc_ValueError, "the folder's path is too long");
    strcpy(folder, place);
    strcpy(start_mark, mark);
    begin_file();
    Py_RETURN_NONE;
}

static PyObject *set_costs(PyObject *module, PyObject *args)
{
    (void)module;
    if (!PyArg_ParseTuple(args, "dd", &inside, &total))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *charge(PyObject *module, PyObject *cost)
{
    (void)module;
    double value = PyFloat_AsDouble(cost);
    if (value == -1.0 && PyErr_Occurred())
        return NULL;
    if (!running_thread())
        return NULL;
    account(value);
    Py_RETURN_NONE;
}

static PyObject *last_duration(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(last);
}

static PyObject *hold(PyObject *module, PyObject *held)
{
    (void)module;
    Thread *thread = running_thread();
    if (!thread)
        return NULL;
    int before = thread->held;
    thread->held = held == Py_True;
    return PyBool_FromLong(before);
}

static PyMethodDef methods[] = {
    {"configure", configure, METH_VARARGS, NULL},
    {"probe", probe, METH_VARARGS, NULL},
    {"set_costs", set_costs, METH_VARARGS, NULL},
    {"charge", charge, METH_O, NULL},
    {"last_duration", last_duration, METH_NOARGS, NULL},
    {"hold", hold, METH_O, NULL},
    {"iterator", iterator, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
    (void)module;
    seed = now() | 1;
    pthread_key_create(&thread_key, forget_thread);
    pthread_atfork(NULL, NULL, forked);
    return PyType_Ready(&FunctionType) || PyType_Ready(&HandleType) || PyType_Ready(&IteratorType) ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "perfvcs_tracer",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit_perfvcs_tracer(void)
{
    return PyModuleDef_Init(&definition);
}
