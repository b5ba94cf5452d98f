import Testing

@testable import ParlorMessageBus

@Suite("the setting BUS")
struct BusURLTests {
    @Test("a URL has a host, by name or address, and a port")
    func valid() {
        #expect(BusURL("tcp://127.0.0.1:4150") == .tcp(host: "127.0.0.1", port: 4150))
        #expect(BusURL("tcp://bus:1") == .tcp(host: "bus", port: 1))
        #expect(BusURL("tcp://[::1]:65535") == .tcp(host: "::1", port: 65535))
    }

    @Test(
        "any other URL is refused",
        arguments: [
            "", "tcp://", "tcp://:1", "tcp://a", "tcp://a:", "tcp://a:0", "tcp://a:65536", "tcp://a:-1",
            "tcp://::1:4150",
            "nats://", "nats://a:0", "nats://a/B", "nats://a/b/c", "nats://a,,b", "nats://:p@a", "nats://::1",
            "nats://a b",
            "http://a:1", "tcp://a/b:1", "tcp://a b:1", "tcp://a\n:1", "a:1",
        ])
    func invalid(text: String) {
        #expect(BusURL(text) == nil)
    }
}

@Suite("the address of NATS")
struct NATSURLTests {
    @Test("a URL names one server or several, and a prefix")
    func servers() throws {
        let plain = try #require(NATSURL("nats://bus"))
        #expect(plain.servers == [BusAddress(host: "bus", port: 4222)] && plain.prefix == "parlor")
        #expect(plain.credentials(token: nil) == nil && plain.credentials(token: "t") == .token("t"))
        for text in ["nats://a:1,[::1]:2,c/parlor-a", "nats://a:1,nats://[::1]:2,nats://c:4222/parlor-a"] {
            #expect("\(try #require(BusURL(text)))" == "nats://a:1,[::1]:2,c:4222/parlor-a")
        }
        #expect(NATSURL("nats://a:1,nats://b:2")?.servers.count == 2)
        #expect(NATSURL("nats://a/")?.prefix == "parlor")
        #expect(NATSURL("nats://a/one.two")?.prefix == "one.two")
    }

    @Test("a URL may have a name and password, a token, or a name with the token as its password, and shows none")
    func credentials() throws {
        let both = try #require(NATSURL("nats://me:p:@w@a:1,nats://you@b:2"))
        #expect(both.credentials(token: "t") == .user("me", password: "p:@w"))
        #expect("\(both)" == "nats://a:1,b:2/parlor")
        let name = try #require(NATSURL("nats://me@a"))
        #expect(name.credentials(token: "t") == .user("me", password: "t"))
        #expect(name.credentials(token: nil) == .token("me"))
    }

    @Test("servers are tried in turn, configured ones before discovered ones")
    func turns() {
        let (a, b, c) = (
            BusAddress(host: "a", port: 1), BusAddress(host: "b", port: 1), BusAddress(host: "c", port: 1)
        )
        var servers = BusServers([a, b])
        servers.learn([b, c])
        #expect((0..<4).map { _ in servers.next() } == [a, b, c, a])
        servers.learn((1...200).map { BusAddress(host: "h", port: $0) })
        #expect(Set((0..<300).map { _ in servers.next() }).count == 2 + BusServers.maxLearned)
        servers.learn([])
        #expect(Set((0..<4).map { _ in servers.next() }) == [a, b])
    }
}

@Suite("backing off")
struct BackoffTests {
    @Test("waits grow from 50 ms to a second and stay there, each between half of it and all of it")
    func grows() {
        var random = SystemRandomNumberGenerator()
        var backoff = Backoff()
        for ceiling in [50, 100, 200, 400, 800, 1000, 1000] {
            let wait = backoff.next(using: &random)
            #expect(wait >= .milliseconds(ceiling) / 2 && wait <= .milliseconds(ceiling))
        }
        backoff.reset()
        #expect(backoff.next(using: &random) <= .milliseconds(50))
    }
}
