/// Something that goes wrong.
enum InjectedFault: Sendable, CustomStringConvertible {
    enum Kind: String, CaseIterable, Sendable {
        case kills, crashes, bus, freezes, network, disk, database, clocks, reconnects, rolling
    }

    /// `kill -9`; its successor starts after a while, and may be told to kill itself at a crash point.
    case kill(ProgramName, away: Duration, crashPoint: String?)
    case freeze(ProgramName, Duration)
    case condition(ProgramName, BusProxy.NetworkCondition, Duration)
    case cut(ProgramName)
    /// Its files may not grow: what a full disk is to those who append.
    case fullDisk(ProgramName, Duration)
    /// The server ends all of its connections.
    case databaseLoss(ProgramName)
    /// Its clock is this far off from now on.
    case clock(ProgramName, Duration)
    /// All clients drop their sockets at one instant.
    case everyoneReconnects
    /// SIGTERM for each process in turn, under load.
    case rollingRestart

    var description: String {
        switch self {
        case .kill(let name, let away, let point):
            "kill \(name.title), away for \(away)" + (point.map { ", then CRASH_AT=\($0)" } ?? "")
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
