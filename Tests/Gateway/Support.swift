import Glibc
import JSON
import ServiceKit
import Synchronization
import Testing

/// A folder of the test's own; it goes with it.
final class Folder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/parlor-gateway-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failed(reason: String(cString: strerror(errno))) }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        guard let directory = opendir(path) else { return }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            unlink("\(path)/\(name)")
        }
        closedir(directory)
        rmdir(path)
    }

    func write(_ text: String, to name: String) throws {
        guard let file = fopen("\(path)/\(name)", "w") else { throw Failed(reason: String(cString: strerror(errno))) }
        fputs(text, file)
        fclose(file)
    }

    struct Failed: Error { let reason: String }
}

/// What was logged.
final class CapturedLog: Sendable {
    private let lines = Mutex("")

    var text: String { lines.withLock { $0 } }

    var logger: Logger {
        Logger("test", level: .debug) { line in
            self.lines.withLock { $0 += String(decoding: line, as: UTF8.self) }
        }
    }
}

/// What arrives from anywhere, in order. Waiting for it is all the waiting that tests do.
final class Arrivals<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    // Kept without limit: a test reads all it makes.
    init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .unbounded) }

    func add(_ value: Value) { continuation.yield(value) }

    func next() async throws -> Value {
        var iterator = stream.makeAsyncIterator()
        return try #require(await iterator.next())
    }

    func next(_ count: Int) async throws -> [Value] {
        var values: [Value] = []
        while values.count < count { values.append(try await next()) }
        return values
    }
}
