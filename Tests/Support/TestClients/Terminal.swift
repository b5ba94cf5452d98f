import Glibc

/// Unbuffered output of lines, also through a pipe.
package enum Terminal {
    package static func print(_ text: String) { write(text, to: STDOUT_FILENO) }
    package static func complain(_ text: String) { write(text, to: STDERR_FILENO) }

    private static func write(_ text: String, to descriptor: Int32) {
        _ = Array("\(text)\n".utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}
