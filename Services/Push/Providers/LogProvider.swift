import Glibc
import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import ParlorWorkers
import Synchronization

/// Writes each notification as a line of JSON: whole to a file, and to standard output without its text and the device's
/// token, as containers and services keep what a program prints. It needs no account with a push service.
struct LogProvider: PushProvider {
    static let name = "log"

    static let file = Setting(
        "PUSH_LOG_FILE", .path, in: .notifications, unset: "standard output, without texts and tokens",
        "File for the lines of the log provider")
    static let settings: [any AnySetting] = [file]

    /// The limit of lines that wait for the disk, or for the reader of the pipe.
    static let concurrency = 64

    let identity = name
    private let clock: any WallClock
    private let file: LineFile
    private let isWhole: Bool
    /// A thread of its own: a pipe that no one reads would delay others' calls.
    private let writer = WorkerPool(
        named: "push-log", threads: 1, maxWaiting: concurrency * Device.Environment.allCases.count)

    init(_ context: ServiceContext) throws {
        clock = context.clock
        let path = context.configuration[Self.file]
        isWhole = path != nil
        guard let path else {
            file = LineFile(STDOUT_FILENO)
            return
        }
        // It contains people's messages, so only its owner may read it.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw ConfigurationError.malformed("PUSH_LOG_FILE (--push-log-file): \(path) cannot be written: \(reason)")
        }
        file = LineFile(descriptor)
    }

    func send(_ notification: Notification) async -> PushOutcome {
        let line = Self.line(notification, at: clock.now(), isWhole: isWhole)
        do {
            let failure = try await writer.run { [file] in file.write(line) }
            return failure.map { .unanswered(reason: "file", detail: $0) } ?? .delivered
        } catch {
            return .unanswered(reason: "busy", detail: "too many lines wait")
        }
    }

    func stop() async { await writer.close() }

    /// - Parameter isWhole: false if the line has no more than what identifies the notification.
    static func line(_ notification: Notification, at time: Timestamp, isWhole: Bool) -> [UInt8] {
        JSONWriter.bytes(reservingCapacity: notification.payload.bytes.count + 512) { json in
            json.object {
                $0.member("time", time.iso)
                if isWhole { notification.writeMembers(to: &$0) } else { notification.writeIdentity(to: &$0) }
            }
        } + [UInt8(ascii: "\n")]
    }
}

/// A file or a pipe that is written in whole lines, by one thread at a time.
final class LineFile: Sendable {
    private let descriptor: Int32
    /// The rest of a line that was partly written.
    private let begun = Mutex<ArraySlice<UInt8>>([])
    /// The number of bytes to write at once, so that no line of another process comes in between: for a pipe
    /// `PIPE_BUF`, for a file any number.
    private let maxPiece: Int
    private let maxWait: Duration

    init(_ descriptor: Int32, maxWait: Duration = PushProviders.maxWait) {
        self.descriptor = descriptor
        self.maxWait = maxWait
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        maxPiece = isFile ? .max : Int(PIPE_BUF)
    }

    /// Writes a line. Blocks. If no one reads a pipe for `maxWait`, it gives up; the partial line is completed
    /// before the next one.
    ///
    /// - Returns: the error; nil if everything was written.
    func write(_ line: [UInt8]) -> String? {
        begun.withLock { begun in
            if let failure = write(&begun) { return failure }
            var rest = line[...]
            defer { if rest.count < line.count { begun = rest } }
            return write(&rest)
        }
    }

    private func write(_ rest: inout ArraySlice<UInt8>) -> String? {
        while !rest.isEmpty {
            var descriptorEvents = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&descriptorEvents, 1, Int32(maxWait.milliseconds)) > 0 else { return "it is not being read" }
            let count = rest.prefix(maxPiece).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count >= 0 else { return String(cString: strerror(errno)) }
            rest = rest.dropFirst(count)
        }
        return nil
    }
}

extension Notification {
    /// Writes the notification in the form for providers other than a phone maker's push service.
    func writeMembers(to json: inout JSONWriter) {
        writeIdentity(to: &json)
        json.member(
            "device",
            object: {
                $0.member("token", device.token.text)
                $0.member("platform", Device.platform)
                $0.member("environment", device.environment.rawValue)
                $0.member("userId", device.userID)
            })
        json.member("payload", payload)
    }

    /// Writes what identifies the notification, and nothing that a person wrote.
    func writeIdentity(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("kind", kind.rawValue)
        json.member("collapseId", collapseID)
        json.member("expiresAt", expiresAt.iso)
    }
}
