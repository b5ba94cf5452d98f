// Declarations that `import Glibc` lacks: epoll and eventfd, and a few calls that glibc hides without
// _GNU_SOURCE. Defining that here would change structures that the Glibc module has already imported
// (fd_set), so those calls are declared by hand.
#pragma once
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

extern int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
