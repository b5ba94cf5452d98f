import Testing

@testable import parlor_bench

@Suite("The benchmark's command line")
struct BenchOptionsTests {
    private func options(_ flags: String...) throws -> BenchOptions { try BenchOptions(["http://127.0.0.1:1"] + flags) }

    @Test("without a named row the short form runs, limited to the rows that a server is given for")
    func short() throws {
        let bare = try options()
        #expect(bare.isShort && bare.measurements == [.myRooms, .send, .throughput])
        #expect(bare.sends == 500 && bare.seconds == 1 && bare.messages(in: .start) == 100_000)
        let whole = try options(
            "--floor", "http://127.0.0.1:2", "--bus=http://127.0.0.1:3", "--parlor", "parlor", "--seconds", "2")
        #expect(whole.measurements == [.myRooms, .send, .throughput, .fanOut, .bus, .start])
        #expect(whole.seconds == 2)
    }

    @Test("named rows run in full, and no others, in a fixed order")
    func named() throws {
        let named = try options("--only", "growth,send,start")
        #expect(!named.isShort && named.measurements == [.send, .start, .growth])
        #expect(named.sends == 2000 && named.seconds == 5)
        #expect(named.messages(in: .start) == 1_000_000 && named.messages(in: .growth) == 10_000_000)
        #expect(named.rooms == 200 && named.clientRooms == 500 && named.clientSeconds == 60)
        let small = try options("--only", "minute", "--rooms", "7", "--seconds", "3")
        #expect(small.measurements == [.minute] && small.clientRooms == 7 && small.clientSeconds == 3)
        #expect(try options("--only", "start", "--messages", "7").messages(in: .start) == 7)
    }

    @Test(
        "invalid options are refused",
        arguments: [
            ["--only", "speed"], ["--seconds", "0"], ["--seconds"], ["--bus", "127.0.0.1:3"], ["--floor-pid", "-1"],
            ["--parlor-core", "x"], ["--senders", "3"], ["--fast", "1"],
        ])
    func refused(flags: [String]) {
        #expect(throws: BenchOptions.Malformed.self) { try BenchOptions(["http://127.0.0.1:1"] + flags) }
    }
}
