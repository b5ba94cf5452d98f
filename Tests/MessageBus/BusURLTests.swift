import Testing

@testable import MessageBus

@Suite("the setting BUS")
struct BusURLTests {
    @Test("a host, by name or address, and a port")
    func valid() {
        #expect(BusURL("tcp://127.0.0.1:4150") == .tcp(host: "127.0.0.1", port: 4150))
        #expect(BusURL("tcp://bus:1") == .tcp(host: "bus", port: 1))
        #expect(BusURL("tcp://[::1]:65535") == .tcp(host: "::1", port: 65535))
    }

    @Test(
        "anything else is none",
        arguments: [
            "", "tcp://", "tcp://:1", "tcp://a", "tcp://a:", "tcp://a:0", "tcp://a:65536", "tcp://a:-1",
            "tcp://::1:4150",
            "http://a:1", "tcp://a/b:1", "tcp://a b:1", "tcp://a\n:1", "a:1",
        ])
    func invalid(text: String) {
        #expect(BusURL(text) == nil)
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
