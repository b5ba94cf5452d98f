import Glibc
import ParlorBus
import ParlorTestSupport
import Testing

@Suite("The tests' own client", .timeLimit(.minutes(1)))
struct RawClientTests {
    @Test("a connection that it closes is closed, even if a process was started meanwhile")
    func closing() async throws {
        let server = try await BusServer.start(host: "127.0.0.1", port: 0, settings: BrokerSettings())
        let client = try RawClient(port: server.port)
        let child = try ChildProcess(["sleep", "60"], output: "/dev/null", log: "/dev/null")
        defer { child.signal(SIGKILL) }
        try client.send(lineByByte: #"{"op":"hello","version":1,"name":"rooms"}"#)
        _ = try client.receiveLine()
        try client.send(lineByByte: #"{"op":"serve","id":1,"subject":"rooms.>","queue":"rooms"}"#)
        try client.send(lineByByte: #"{"op":"req","id":5,"subject":"rooms.list","timeout":60000,"data":null}"#)
        _ = try client.receiveLine()
        let other = try RawClient(port: server.port)
        try other.send(lineByByte: #"{"op":"hello","version":1,"name":"gateway"}"#)
        _ = try other.receiveLine()
        try other.send(lineByByte: #"{"op":"req","id":1,"subject":"rooms.list","timeout":60000,"data":null}"#)
        client.close()
        // Otherwise the next line would be a ping, after fifteen seconds.
        #expect(try other.receiveLine()?.contains(#""op":"err""#) == true)
        other.close()
        await server.drain(timeout: .zero)
    }
}
