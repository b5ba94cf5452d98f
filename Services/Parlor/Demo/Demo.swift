import Glibc
import ParlorContracts
import ParlorMessageBus
import ParlorServiceKit
import Synchronization

/// `parlor --demo`: people, rooms and boards to look at, in a folder that is removed when the program stops.
public enum Demo {
    private static let setting = Setting(
        "DEMO", .toggle, default: "off", in: .process,
        "People and rooms to try the web client with, and links that sign in as each; in a folder of its own")

    /// The flags and variables that set the data's location or the time: with one of them, the data may be
    /// real.
    private static let refused = [
        ("--data", "DATA_DIR"), ("--database-url", "DATABASE_URL"), ("--jwt-secret-file", "JWT_SECRET_FILE"),
        ("--clock-offset-file", "CLOCK_OFFSET_FILE"),
    ]

    /// Sets the environment for a demo if one is requested, before anything reads the environment.
    ///
    /// - Returns: nil if none is requested.
    /// - Throws: `Refusal` if the data may be real.
    public static func prepare(arguments: [String]) throws(Refusal) -> DemoFolder? {
        guard isAskedFor(arguments) else { return nil }
        for (flag, name) in refused {
            let isFlagged = arguments.contains { $0 == flag || $0.hasPrefix("\(flag)=") }
            if isFlagged || getenv(name) != nil { throw Refusal(reason: "leave out \(isFlagged ? flag : name)") }
        }
        guard let folder = DemoFolder() else { throw Refusal(reason: "no folder can be made for it") }
        setenv("DATA_DIR", folder.path, 1)
        setenv("CLOCK_OFFSET_FILE", folder.clock.file, 1)
        setenv("TESTING", "on", 1)
        // Fewer log lines, so that the links are easy to find.
        setenv("LOG_LEVEL", "warning", 0)
        return folder
    }

    /// Prepares a demo for a program, which exits with 2 on a refusal, as for invalid settings.
    public static func prepareOrExit() -> DemoFolder? {
        do throws(Refusal) {
            return try prepare(arguments: Array(CommandLine.arguments.dropFirst()))
        } catch {
            Program.write("parlor: \(error)", to: STDERR_FILENO)
            exit(2)
        }
    }

    private static func isAskedFor(_ arguments: [String]) -> Bool {
        // Commands such as `parlor backup` work on real data.
        guard arguments.first?.hasPrefix("-") ?? true else { return false }
        // As `Configuration` reads it: `--help` and the like come first, then the last flag, then the environment.
        if arguments.contains(where: { Inquiry($0) != nil }) { return false }
        let flags = arguments.compactMap { argument -> String? in
            argument == "--demo" ? "on" : argument.hasPrefix("--demo=") ? String(argument.dropFirst(7)) : nil
        }
        return (flags.last ?? getenv("DEMO").map { String(cString: $0) }) == "on"
    }

    public struct Refusal: Error, CustomStringConvertible {
        let reason: String
        public var description: String { "--demo has data of its own: \(reason)" }
    }

    /// Fills the demo, once all services have started, and prints its links.
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
            // Two names of one machine are two origins, so a browser keeps a session for each.
            for (person, host) in [("ada", "127.0.0.1"), ("ben", "localhost")] {
                Program.write("\(person): http://\(host):\(port)/#/demo/\(person)/\(password)", to: STDOUT_FILENO)
            }
            return guest
        }
    }
}

/// The folder of a demo, which is removed when the process exits, even if its start fails.
public struct DemoFolder: Sendable {
    /// `atexit` calls a function without a context, so the path is kept here. A process has at most one demo.
    private static let toRemove = Mutex<String?>(nil)

    let path: String
    let clock: DemoClock

    init?() {
        var template = Array("\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/parlor-demo.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { return nil }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        Self.toRemove.withLock { $0 = path }
        // The services have closed their files by then, and the folder has only files that they created.
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
        // It is a file or an empty folder. There are no links, as nothing here creates one.
        _ = Glibc.remove(path)
    }
}

/// The clock of a demo, which is changed while its past is written.
struct DemoClock: Sendable {
    let file: String

    func set(minutesAgo: Int) {
        guard let stream = fopen(file, "we") else { return }
        fputs("\(-minutesAgo * 60_000)\n", stream)
        fclose(stream)
    }
}
