import Contracts
import Glibc
import JSON
import ServiceKit
import Workers

/// Writes each notification as a line of JSON, to a file or to standard output: to see what would be sent, with no account
/// anywhere.
struct LogProvider: PushProvider {
    static let name = "log"

    static let file = Setting(
        "PUSH_LOG_FILE", .path, default: "", "Where the provider log writes its lines; to standard output by default")
    static let settings = [file]

    /// Lines that may wait for the disk, or for who reads the pipe.
    private static let maxWaiting = 1024

    private let descriptor: Int32
    private let clock: any WallClock
    private let log: Logger
    /// A thread of its own: a pipe that nobody reads would hold up others' calls.
    private let writer = WorkerPool(threads: 1, maxWaiting: maxWaiting)

    init(_ context: ServiceContext) throws {
        clock = context.clock
        log = context.log
        guard let path = context.configuration.optional(Self.file.name) else {
            descriptor = STDOUT_FILENO
            return
        }
        // What people write stands in it: for its owner alone.
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw ConfigurationError.malformed("PUSH_LOG_FILE (--push-log-file): \(path) cannot be written: \(reason)")
        }
    }

    func send(_ notification: Notification) async -> PushOutcome {
        let line = Self.line(notification, at: clock.now())
        do {
            let isWritten = try await writer.run { [descriptor] in Self.write(line, to: descriptor) }
            return isWritten ? .delivered : .later(reason: "file", after: nil, isAnswer: false)
        } catch {
            return .later(reason: "busy", after: nil, isAnswer: false)
        }
    }

    func stop() async { await writer.close() }

    static func line(_ notification: Notification, at time: Timestamp) -> [UInt8] {
        JSONWriter.bytes(reservingCapacity: notification.payload.bytes.count + 512) { json in
            json.object {
                $0.member("time", time.iso)
                notification.writeMembers(to: &$0)
            }
        } + [UInt8(ascii: "\n")]
    }

    /// In pieces that a pipe takes at once if it takes any: one that nobody reads is given up after a while.
    ///
    /// - Returns: whether all was written.
    private static func write(_ line: [UInt8], to descriptor: Int32) -> Bool {
        var rest = line[...]
        while !rest.isEmpty {
            var place = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&place, 1, Int32(PushProviders.patience.milliseconds)) > 0 else { return false }
            let piece = rest.prefix(Int(PIPE_BUF))
            let count = piece.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count >= 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

extension Notification {
    /// As providers that are no push service of a phone's maker show it.
    func writeMembers(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("kind", kind.rawValue)
        json.member("collapseId", collapseID)
        json.member("expiresAt", expiresAt.iso)
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
}
