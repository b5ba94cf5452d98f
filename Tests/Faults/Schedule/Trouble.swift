/// Something that goes wrong.
enum Trouble: Sendable, CustomStringConvertible {
    enum Kind: String, CaseIterable, Sendable {
        case kills, crashes, bus, freezes, network, reconnects, rolling
    }

    /// `kill -9`; its successor starts after a while, and may be told to kill itself at a crash point.
    case kill(ProgramName, away: Duration, crashPoint: String?)
    case freeze(ProgramName, Duration)
    case weather(ProgramName, BusProxy.Weather, Duration)
    case cut(ProgramName)
    /// All clients drop their sockets at one instant.
    case everyoneReconnects
    /// SIGTERM for each process in turn, under load.
    case rollingRestart

    var description: String {
        switch self {
        case .kill(let name, let away, let point):
            "kill \(name.rawValue), away for \(away)" + (point.map { ", then CRASH_AT=\($0)" } ?? "")
        case .freeze(let name, let time): "freeze \(name.rawValue) for \(time)"
        case .weather(let name, let weather, let time): "the bus of \(name.rawValue) \(weather) for \(time)"
        case .cut(let name): "cut \(name.rawValue) off the bus"
        case .everyoneReconnects: "everyone reconnects"
        case .rollingRestart: "rolling restart"
        }
    }
}
