/// A fault to inject.
enum InjectedFault: Sendable, CustomStringConvertible {
    enum Kind: String, CaseIterable, Sendable {
        case kills, crashes, bus, freezes, network, disk, database, clocks, reconnects, rolling
    }

    /// Kills the program with `kill -9`; its successor starts after a while, and may kill itself at
    /// a crash point.
    case kill(ProgramName, down: Duration, crashPoint: String?)
    case freeze(ProgramName, Duration)
    case condition(ProgramName, BusProxy.NetworkCondition, Duration)
    case cut(ProgramName)
    /// Keeps the program's files from growing. Appending then fails as on a full disk.
    case fullDisk(ProgramName, Duration)
    /// The server ends all of the program's connections.
    case databaseLoss(ProgramName)
    /// The program's clock is off by this much from now on.
    case clock(ProgramName, Duration)
    /// Drops all clients' sockets at one instant.
    case everyoneReconnects
    /// Each process in turn is stopped with SIGTERM, under load.
    case rollingRestart

    var description: String {
        switch self {
        case .kill(let name, let down, let point):
            "kill \(name.title), down for \(down)" + (point.map { ", then CRASH_AT=\($0)" } ?? "")
        case .freeze(let name, let time): "freeze \(name.title) for \(time)"
        case .condition(let name, let condition, let time): "the bus of \(name.title) \(condition) for \(time)"
        case .cut(let name): "cut \(name.title) off the bus"
        case .fullDisk(let name, let time): "no disk space for \(name.title) for \(time)"
        case .databaseLoss(let name): "the database of \(name.title) hangs up"
        case .clock(let name, let offset): "the clock of \(name.title) is \(offset) off"
        case .everyoneReconnects: "everyone reconnects"
        case .rollingRestart: "rolling restart"
        }
    }
}
