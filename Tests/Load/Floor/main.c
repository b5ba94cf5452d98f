// bench-floor: what this machine can do at most. One thread, one epoll, and of all frames that arrive in a turn one write for
// each socket; no handshake, no sessions, and nothing done with a frame but to pass it on. parlor-bench's row "fanout" is
// measured against it.
//
// A client connects and gets every frame that any client sends, as it was sent: server frames of RFC 6455, section 5.2.
// Says `bench-floor ready HOST:PORT`.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MAX_EVENTS = 512, READ_SIZE = 256 * 1024, MAX_CLIENTS = 65536 };

struct bytes {
    char *data;
    size_t count, capacity;
};

struct client {
    int socket;
    size_t place;          // in `clients`
    struct bytes unframed; // the beginning of a frame
    struct bytes pending;  // what the kernel did not take
};

static struct client *clients[MAX_CLIENTS];
static size_t client_count;
static struct bytes turn; // the frames of this turn
static int epoll;

static void fail(const char *call) {
    perror(call);
    exit(1);
}

static void append(struct bytes *bytes, const char *data, size_t count) {
    if (bytes->count + count > bytes->capacity) {
        bytes->capacity = (bytes->count + count) * 2;
        bytes->data = realloc(bytes->data, bytes->capacity);
        if (!bytes->data) fail("realloc");
    }
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
}

static void drop_first(struct bytes *bytes, size_t count) {
    memmove(bytes->data, bytes->data + count, bytes->count - count);
    bytes->count -= count;
    if (bytes->count > 0) return;
    free(bytes->data);
    *bytes = (struct bytes){0};
}

static void watch(struct client *client, int operation) {
    struct epoll_event event = {.events = EPOLLIN | (client->pending.count > 0 ? EPOLLOUT : 0), .data.ptr = client};
    if (epoll_ctl(epoll, operation, client->socket, &event) < 0) fail("epoll_ctl");
}

static void accept_one(int listener) {
    int socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), yes = 1;
    if (socket < 0) return;
    if (client_count == MAX_CLIENTS) {
        close(socket);
        return;
    }
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct client *client = calloc(1, sizeof *client);
    if (!client) fail("calloc");
    client->socket = socket;
    client->place = client_count;
    clients[client_count++] = client;
    watch(client, EPOLL_CTL_ADD);
}

static void close_client(struct client *client) {
    close(client->socket);
    clients[client->place] = clients[--client_count];
    clients[client->place]->place = client->place;
    free(client->unframed.data);
    free(client->pending.data);
    free(client);
}

// How long the first frame is, its header included; 0 if that is not known yet.
static size_t frame_length(const unsigned char *bytes, size_t count) {
    if (count < 2 || (bytes[1] == 126 && count < 4)) return 0;
    if (bytes[1] > 126) {
        fprintf(stderr, "bench-floor: a frame is masked, or longer than 65,535 bytes\n");
        exit(1);
    }
    return bytes[1] == 126 ? 4 + ((size_t)bytes[2] << 8 | bytes[3]) : 2 + (size_t)bytes[1];
}

// Returns 0 once the client has gone.
static int receive(struct client *client) {
    static char buffer[READ_SIZE];
    ssize_t count = recv(client->socket, buffer, sizeof buffer, 0);
    if (count <= 0) return count < 0 && errno == EAGAIN;
    append(&client->unframed, buffer, (size_t)count);
    size_t whole = 0, length;
    while ((length = frame_length((unsigned char *)client->unframed.data + whole, client->unframed.count - whole)) > 0 &&
           whole + length <= client->unframed.count)
        whole += length;
    append(&turn, client->unframed.data, whole);
    drop_first(&client->unframed, whole);
    return 1;
}

static void send_pending(struct client *client) {
    ssize_t count = send(client->socket, client->pending.data, client->pending.count, MSG_NOSIGNAL);
    if (count <= 0) return;
    drop_first(&client->pending, (size_t)count);
    if (client->pending.count == 0) watch(client, EPOLL_CTL_MOD);
}

static void tell_everyone(void) {
    for (size_t index = 0; index < client_count; index++) {
        struct client *client = clients[index];
        ssize_t count = 0;
        if (client->pending.count == 0) count = send(client->socket, turn.data, turn.count, MSG_NOSIGNAL);
        if (count < 0) count = 0;
        if ((size_t)count == turn.count) continue;
        append(&client->pending, turn.data + count, turn.count - (size_t)count);
        watch(client, EPOLL_CTL_MOD);
    }
    turn.count = 0;
}

static int start_listening(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 4096) < 0)
        fail("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &size) < 0) fail("getsockname");
    printf("bench-floor ready 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

int main(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) fail("epoll_create1");
    int listener = start_listening();
    struct epoll_event listening = {.events = EPOLLIN, .data.ptr = NULL}; // no client
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &listening) < 0) fail("epoll_ctl");
    for (;;) {
        struct epoll_event events[MAX_EVENTS];
        int count = epoll_wait(epoll, events, MAX_EVENTS, -1);
        for (int index = 0; index < count; index++) {
            struct client *client = events[index].data.ptr;
            if (!client) {
                accept_one(listener);
            } else {
                if (events[index].events & EPOLLOUT) send_pending(client);
                if ((events[index].events & ~EPOLLOUT) && !receive(client)) close_client(client);
            }
        }
        if (turn.count > 0) tell_everyone();
    }
}
