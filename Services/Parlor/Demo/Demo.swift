import Contracts
import Glibc
import MessageBus
import ServiceKit
import Synchronization

/// `parlor --demo`: people, rooms and boards to look at, in a folder that goes when the program stops.
public enum Demo {
    private static let setting = Setting(
        "DEMO", .toggle, default: "off",
        "People and rooms to try the web client with, and links that sign in as each; in a folder of its own")

    /// What says where data is, or what time it is: with one of them given, the data may be somebody's.
    private static let refused = [
        ("--data", "DATA_DIR"), ("--database-url", "DATABASE_URL"), ("--jwt-secret-file", "JWT_SECRET_FILE"),
        ("--clock-offset-file", "CLOCK_OFFSET_FILE"),
    ]

    /// If a demo is asked for, sets the environment for it, before anything reads that.
    ///
    /// - Returns: nil if none is.
    /// - Throws: `Refusal` beside data that may be real.
    public static func prepare(arguments: [String]) throws(Refusal) -> DemoFolder? {
        guard isAskedFor(arguments) else { return nil }
        for (flag, name) in refused {
            let isFlagged = arguments.contains { $0 == flag || $0.hasPrefix("\(flag)=") }
            if isFlagged || getenv(name) != nil { throw Refusal(reason: "leave out \(isFlagged ? flag : name)") }
        }
        guard let folder = DemoFolder() else { throw Refusal(reason: "no folder can be made for it") }
        setenv("DATA_DIR", folder.path, 1)
        setenv("CLOCK_OFFSET_FILE", folder.clock.file, 1)
        // The links are to be found.
        setenv("LOG_LEVEL", "warning", 0)
        return folder
    }

    /// The same for a program, which ends with 2, as for settings that make no sense.
    public static func prepareOrExit() -> DemoFolder? {
        do throws(Refusal) {
            return try prepare(arguments: Array(CommandLine.arguments.dropFirst()))
        } catch {
            Program.write("parlor: \(error)", to: STDERR_FILENO)
            exit(2)
        }
    }

    private static func isAskedFor(_ arguments: [String]) -> Bool {
        // Commands, `parlor backup` and so on, are about real data.
        guard arguments.first?.hasPrefix("-") ?? true else { return false }
        // As `Configuration` reads it: help comes first, then the last flag, then the environment.
        if arguments.contains("--help") || arguments.contains("-h") { return false }
        let flags = arguments.compactMap { argument -> String? in
            argument == "--demo" ? "on" : argument.hasPrefix("--demo=") ? String(argument.dropFirst(7)) : nil
        }
        return (flags.last ?? getenv("DEMO").map { String(cString: $0) }) == "on"
    }

    public struct Refusal: Error, CustomStringConvertible {
        let reason: String
        public var description: String { "--demo has data of its own: \(reason)" }
    }

    /// Fills the demo, once all services serve, and prints its links.
    public static func factory(_ folder: DemoFolder?) -> ComponentFactory {
        ComponentFactory(settings: [setting]) { node, running in
            guard let folder else { return nil }
            let writer = DemoWriter(bus: node.bus, clock: folder.clock)
            let (people, password) = try await writer.write(DemoStory.steps)
            folder.clock.set(minutesAgo: 0)
            guard let person = people[DemoStory.guest] else { preconditionFailure("the story registers its guest") }
            let guest = DemoGuest(person, in: node)
            try await guest.start()
            let port = running.compactMap(\.address).last?.split(separator: ":").last ?? ""
            // Two names of one machine are two origins: a browser keeps a session for each.
            for (person, host) in [("ada", "127.0.0.1"), ("ben", "localhost")] {
                Program.write("\(person): http://\(host):\(port)/#/demo/\(person)/\(password)", to: STDOUT_FILENO)
            }
            return guest
        }
    }
}

/// The folder of a demo. It goes when the process exits, however its start ends.
public struct DemoFolder: Sendable {
    /// `atexit` calls a function without a context, so the path is kept here. A process has one demo at most.
    private static let toRemove = Mutex<String?>(nil)

    let path: String
    let clock: DemoClock

    init?() {
        var template = Array("\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/parlor-demo.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { return nil }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        Self.toRemove.withLock { $0 = path }
        // The services have closed their files by then, and nothing but what they made is in it.
        atexit { if let path = DemoFolder.toRemove.withLock({ $0 }) { DemoFolder.remove(path) } }
        self.path = path
        clock = DemoClock(file: "\(path)/clock")
        clock.set(minutesAgo: 0)
    }

    private static func remove(_ path: String) {
        if let directory = opendir(path) {
            while let entry = readdir(directory) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
                }
                if name != ".", name != ".." { remove("\(path)/\(name)") }
            }
            closedir(directory)
        }
        // A file or an empty folder; a link is not followed, as nothing here makes one.
        _ = Glibc.remove(path)
    }
}

/// The time of a demo, while its past is written.
struct DemoClock: Sendable {
    let file: String

    func set(minutesAgo: Int) {
        guard let stream = fopen(file, "we") else { return }
        fputs("\(-minutesAgo * 60_000)\n", stream)
        fclose(stream)
    }
}
