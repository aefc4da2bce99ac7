#include <pthread.h>

#include "CRealtimeJSON.h"

// Swift has no storage for each thread, and no global variables without a concurrency domain.

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;
static void (*release_object)(void *);

static void end_of_thread(void *object) {
    void (*release)(void *) = __atomic_load_n(&release_object, __ATOMIC_ACQUIRE);
    if (object != NULL && release != NULL) release(object);
}

static void make_key(void) { has_key = pthread_key_create(&key, end_of_thread) == 0; }

void *realtime_json_take_object(void) {
    pthread_once(&once, make_key);
    if (!has_key) return NULL;
    void *object = pthread_getspecific(key);
    if (object != NULL) pthread_setspecific(key, NULL);
    return object;
}

void *realtime_json_keep_object(void *object, void (*release)(void *)) {
    pthread_once(&once, make_key);
    if (!has_key) return object;
    __atomic_store_n(&release_object, release, __ATOMIC_RELEASE);
    void *previous = pthread_getspecific(key);
    return pthread_setspecific(key, object) == 0 ? previous : object;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *list;

void *realtime_json_lock_list(void) {
    pthread_mutex_lock(&lock);
    return list;
}

void realtime_json_unlock_list(void *content) {
    list = content;
    pthread_mutex_unlock(&lock);
}
