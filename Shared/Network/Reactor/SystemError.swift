import Glibc

/// A system call that failed: which one, and its `errno`.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    public let call: String
    public let code: Int32

    public init(_ call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// Takes `errno` as the call left it, so nothing may come in between.
    static func last(_ call: String) -> SystemError { SystemError(call, code: errno) }

    /// glibc's `strerror` keeps its buffer per thread (since 2.32), and known codes are constants before that.
    public var description: String { "\(call): \(strerror(code).map { String(cString: $0) } ?? "error") (\(code))" }
}
