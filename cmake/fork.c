// Forks a process that has threads and starts a thread in the child, as tests of the core do. `make arm-python` asks an
// emulator by it whether these tests can be run: qemu 7.2 ends such a child with 127 (plugins/core.c, assertion failed).
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void* started(void* given) {
    if (given) pause();
    return given;
}

int main(void) {
    pthread_t thread;
    int status = 1;
    pthread_create(&thread, 0, started, &status);
    const pid_t child = fork();
    if (child == 0) _exit(pthread_create(&thread, 0, started, 0) || pthread_join(thread, 0));
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}
