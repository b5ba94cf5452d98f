import Glibc
import ParlorReactor
import TestClients

/// The time from the start of `parlor`, on a database of many messages, to its ready line, and its
/// memory then.
struct Start {
    let program: OwnServer.Program
    let messages: Int
    let loop: EventLoop

    private static let rooms = 100
    private static let starts = 5
    /// The time in which background work after a start is done.
    private static let rest: Duration = .seconds(2)

    func measure() async throws -> Row {
        try await furnish()
        var (ready, help): ([Double], [Double]) = ([], [])
        var resident = 0
        for number in 1...Self.starts {
            help.append(try OwnServer.helpTime(program) / .milliseconds(1))
            let server = try OwnServer(program, data: "start")
            ready.append(server.readyAfter / .milliseconds(1))
            if number == Self.starts {
                await loop.pause(Self.rest)
                resident = ProcessMemory.resident(server.process) ?? 0
            }
            server.stop()
        }
        let (time, least) = (ready.median ?? 0, help.median ?? 0)
        return Row(
            name: "start on \(messages) messages in \(Self.rooms) rooms",
            figures: [
                Figure("ready", time, .milliseconds), Figure("--help", least, .milliseconds),
                Figure("ready to --help", time / least, .timeRatio), Figure("kB at rest", resident / 1024),
                Figure("kB of the program", programSize / 1024),
            ])
    }

    private func furnish() async throws {
        let server = try OwnServer(program, data: "start")
        let fixture = Fixture(server: server.address, loop: loop)
        let people = try await fixture.register(2)
        let rooms = try await fixture.makeRooms(Self.rooms, of: people[0], with: people[1])
        server.stop()
        var past = try PastMessages(inDataOf: "\(program.folder)/start")
        for room in rooms { try past.add(messages / rooms.count, to: room, from: people[0], to: people[1]) }
        past.close()
    }

    private var programSize: Int {
        var status = stat()
        return stat(program.path, &status) == 0 ? Int(status.st_size) : 0
    }
}
