import ParlorBus
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorTestSupport
import Testing

/// Raw lines against a broker on a port.
@Suite("broker on the wire", .timeLimit(.minutes(1)))
struct BrokerWireTests {
    private func withServer(
        _ settings: BrokerSettings = BrokerSettings(), _ body: (BusServer) async throws -> Void
    ) async throws {
        let server = try await BusServer.start(host: "127.0.0.1", port: 0, settings: settings)
        try await body(server)
        await server.drain(timeout: .zero)
    }

    @Test("lines parse the same a byte at a time and many in one read")
    func pieces() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            try client.sendHello()
            try client.send(lineByByte: #"{"op":"sub","id":1,"subject":"a"}"#)
            try client.send(lineByByte: #" { "op" : "pub" , "subject" : "a" , "data" : [1, 2] } "#)
            #expect(try client.receiveLine() == #"{"op":"msg","sub":1,"subject":"a","data":[1, 2]}"#)
            let many = (0..<1000).map { #"{"op":"pub","subject":"a","data":\#($0)}"# + "\r\n" }.joined()
            try client.send(Array(many.utf8))
            for number in 0..<1000 {
                #expect(try client.receiveLine() == #"{"op":"msg","sub":1,"subject":"a","data":\#(number)}"#)
            }
        }
    }

    @Test("a request ends by its deadline, also beside a longer one, and when nothing else wakes the broker")
    func deadline() async throws {
        var settings = BrokerSettings()
        (settings.pingInterval, settings.helloTimeout) = (.seconds(3000), .seconds(3000))
        try await withServer(settings) { server in
            let client = try RawClient(port: server.port)
            try client.sendHello()
            try client.send(line: #"{"op":"serve","id":1,"subject":"a","queue":"q"}"#)
            try client.send(line: #"{"op":"req","id":1,"subject":"a","timeout":3000000,"data":1}"#)
            _ = try client.receiveLine()
            for id in 2...3 {
                try client.send(line: #"{"op":"req","id":\#(id),"subject":"a","timeout":20,"data":1}"#)
                _ = try client.receiveLine()
                #expect(try client.receiveLine()?.contains(#""id":\#(id),"code":"deadline_exceeded""#) == true)
            }
        }
    }

    @Test("garbage before hello is answered and closed, garbage after it is answered only")
    func garbage() async throws {
        try await withServer { server in
            let stranger = try RawClient(port: server.port)
            try stranger.send(line: "GET / HTTP/1.1")
            #expect(
                try stranger.receiveToTheEnd() == [
                    #"{"op":"err","code":"malformed","message":"a line is one JSON object"}"#
                ])
            let client = try RawClient(port: server.port)
            try client.sendHello()
            for line in ["", "\u{0}\u{1}", "{", #"{"op":"dance"}"#, #"{"op":"req","id":3,"data":1}"#] {
                try client.send(line: line)
                #expect(try client.receiveLine()?.hasPrefix(#"{"op":"err","#) == true)
            }
            try client.settle()
            #expect(server.counters.malformed == 6)
        }
    }

    @Test("before hello, a line may have 8 KiB")
    func longHello() async throws {
        try await withServer { server in
            let stranger = try RawClient(port: server.port)
            try stranger.send(String(repeating: "x", count: 10_000))
            #expect(try stranger.receiveToTheEnd().first?.contains("a line is at most 8192 bytes") == true)
        }
    }

    @Test("random bytes do not affect other peers")
    func fuzz() async throws {
        try await withServer { server in
            var random = SystemRandomNumberGenerator()
            let witness = try RawClient(port: server.port)
            try witness.sendHello()
            for round in 0..<40 {
                let client = try RawClient(port: server.port)
                if round % 2 == 0 { try client.sendHello() }
                let bytes = (0..<5000).map { _ in
                    Int.random(in: 0..<20, using: &random) == 0
                        ? UInt8(ascii: "\n") : UInt8.random(in: 0...255, using: &random)
                }
                // It may be closed before everything is sent.
                try? client.send(bytes)
                try witness.settle()
            }
        }
    }

    @Test("a line of 1 MiB is read; a longer one ends the connection, with or without its newline")
    func lineTooLong() async throws {
        try await withServer { server in
            let client = try RawClient(port: server.port)
            try client.sendHello()
            let head = #"{"op":"ping","x":""#
            let padding = String(repeating: "x", count: BusLimits.maxLine - head.utf8.count - 3)
            try client.send(line: head + padding + #""}"#)
            #expect(try client.receiveLine() == #"{"op":"pong"}"#)

            for ending in ["\n", ""] {
                let client = try RawClient(port: server.port)
                try client.sendHello()
                let bytes = Array((String(repeating: "x", count: BusLimits.maxLine) + ending).utf8)
                // It is closed as soon as it is too long.
                try? client.send(bytes)
                #expect(
                    try client.receiveLine()
                        == #"{"op":"err","code":"line_too_long","message":"a line is at most 1048576 bytes"}"#)
                #expect(try client.receiveLine() == nil)
            }
        }
    }

    @Test("a subscriber that does not read is disconnected after whole lines and the reason; the others get everything")
    func slowConsumer() async throws {
        var settings = BrokerSettings()
        settings.maxUnsentBytes = 256 * 1024
        try await withServer(settings) { server in
            let slow = try RawClient(port: server.port, receiveBuffer: 4096)
            try slow.sendHello()
            try slow.send(line: #"{"op":"sub","id":1,"subject":"flood"}"#)
            try slow.settle()
            let group = try EventLoopGroup(loopCount: 1)
            let quick = try await TCPBus.connect(
                host: "127.0.0.1", port: server.port, name: "quick", token: nil, on: group.next())
            let arrivals = Arrivals<Int?>()
            try quick.subscribe("flood") { arrivals.add($0.data["n"]?.int) }
            try await quick.flush()

            let padding = String(repeating: "x", count: 2000)
            var sent = 0
            // The reading peer awaits each batch, so that only the other one falls behind.
            while server.counters.slowConsumers == 0 {
                for number in sent..<sent + 20 {
                    try quick.publish("flood", try JSONValue(parsing: #"{"n":\#(number),"padding":"\#(padding)"}"#))
                }
                #expect(try await arrivals.next(20) == (sent..<sent + 20).map { $0 })
                sent += 20
            }
            let lines = try slow.receiveToTheEnd()
            #expect(lines.last == #"{"op":"err","code":"slow_consumer","message":"more than 262144 bytes wait"}"#)
            for (number, line) in lines.dropLast().enumerated() {
                #expect(line.hasPrefix(#"{"op":"msg","sub":1,"subject":"flood","data":{"n":\#(number),"#))
            }
            #expect(server.counters.slowConsumers == 1)
            await quick.close()
            await finish(group)
        }
    }

    @Test("a broker without a token listens on loopback only")
    func loopbackOnly() async throws {
        for host in ["0.0.0.0", "::", "10.0.0.1", "127.example.com", "bus"] {
            await #expect(throws: BusServerError.openWithoutToken(host)) {
                try await BusServer.start(host: host, port: 0)
            }
        }
        var settings = BrokerSettings()
        settings.access = .token("secret")
        let server = try await BusServer.start(host: "0.0.0.0", port: 0, settings: settings)
        let group = try EventLoopGroup(loopCount: 1)
        await #expect(throws: BusError.refused("the token is not this bus's token")) {
            try await TCPBus.connect(
                host: "127.0.0.1", port: server.port, name: "t", token: "other", on: group.next())
        }
        let bus = try await TCPBus.connect(
            host: "127.0.0.1", port: server.port, name: "t", token: "secret", on: group.next())
        try await bus.flush()
        await bus.close()
        await server.drain(timeout: .zero)
        await finish(group)
    }

    @Test("draining lets open requests finish, refuses connections, and closes in order")
    func drain() async throws {
        let server = try await BusServer.start(host: "127.0.0.1", port: 0)
        let client = try RawClient(port: server.port)
        try client.sendHello()
        try client.send(line: #"{"op":"serve","id":1,"subject":"a","queue":"q"}"#)
        try client.send(line: #"{"op":"req","id":1,"subject":"a","timeout":60000,"data":1}"#)
        _ = try client.receiveLine()
        async let drained: Void = server.drain(timeout: .seconds(60))
        // Until the drain has begun, requests are still served.
        var answer: String?
        repeat {
            try client.send(line: #"{"op":"req","id":2,"subject":"b","data":1}"#)
            answer = try client.receiveLine()
            await Task.yield()
        } while answer?.contains("no_responders") == true
        #expect(answer == #"{"op":"err","id":2,"code":"draining","message":"this bus is being stopped"}"#)
        #expect(throws: WireError.refused) { try RawClient(port: server.port) }
        try client.send(line: #"{"op":"res","id":1,"data":"done"}"#)
        #expect(try client.receiveToTheEnd() == [#"{"op":"res","id":1,"data":"done"}"#])
        await drained
    }

    @Test("draining ends in time despite a request that is never answered and a peer that never reads")
    func drainTimeout() async throws {
        let server = try await BusServer.start(host: "127.0.0.1", port: 0)
        let deaf = try RawClient(port: server.port, receiveBuffer: 4096)
        try deaf.sendHello()
        try deaf.send(line: #"{"op":"sub","id":1,"subject":"a"}"#)
        try deaf.send(line: #"{"op":"serve","id":2,"subject":"never","queue":"q"}"#)
        try deaf.settle()
        let client = try RawClient(port: server.port)
        try client.sendHello()
        let padding = String(repeating: "x", count: 500_000)
        for _ in 0..<12 { try client.send(line: #"{"op":"pub","subject":"a","data":"\#(padding)"}"#) }
        try client.send(line: #"{"op":"req","id":1,"subject":"never","timeout":60000,"data":1}"#)
        try client.settle()
        await server.drain(timeout: .milliseconds(10), grace: .milliseconds(10))
        #expect(try client.receiveToTheEnd().allSatisfy { $0.contains(#""id":1,"code":"disconnected""#) })
    }
}
