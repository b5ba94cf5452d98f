import Glibc

/// A secret kept in a file that only its owner can read.
public enum SecretFile {
    /// The minimum length of a secret (RFC 7518, section 3.2, requires 256 bits for HS256).
    static let minLength = 32
    /// The maximum length of a secret. A longer file is a mistake in the setting, and must not be read into
    /// memory.
    public static let maxLength = 4096

    /// Returns the secret in the file: its bytes without line ends at the end. Without a file, one is
    /// created, with mode 0600.
    ///
    /// It is written completely under another name and then linked. So two processes that start at once get
    /// the same secret, and none ever sees half of it. On return it is on disk.
    public static func loadOrCreate(
        _ path: String, randomness: any Randomness = SystemRandomness()
    ) throws(SecretFileError) -> [UInt8] {
        if let secret = try load(path) { return secret }
        let temporary = "\(path).new-\(Base64URL.encode(randomness.bytes(9)))"
        try write(Array((Base64URL.encode(randomness.bytes(minLength)) + "\n").utf8), to: temporary)
        let linked = link(temporary, path)
        let code = errno
        unlink(temporary)
        guard linked == 0 || code == EEXIST else { throw SecretFileError(path: path, code: code) }
        try syncDirectory(of: path)
        guard let secret = try load(path) else { throw SecretFileError(path: path, reason: "it was removed at once") }
        return secret
    }

    /// Returns the secret in a file that another program made, under the same conditions except for its
    /// length: a token that a person chose may be shorter than a key.
    public static func read(
        _ path: String, minLength: Int, maxLength: Int = SecretFile.maxLength
    ) throws(SecretFileError) -> [UInt8] {
        guard let secret = try load(path, minLength: minLength, maxLength: maxLength) else {
            throw SecretFileError(path: path, code: ENOENT)
        }
        return secret
    }

    /// Returns the secret in the file; nil if there is no file.
    private static func load(
        _ path: String, minLength: Int = minLength, maxLength: Int = maxLength
    ) throws(SecretFileError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw SecretFileError(path: path, code: errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SecretFileError(path: path, code: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw SecretFileError(path: path, reason: "it is not a file") }
        guard status.st_mode & 0o077 == 0 else {
            throw SecretFileError(path: path, reason: "others have access to it; run: chmod 600 \(path)")
        }
        var bytes = [UInt8](repeating: 0, count: maxLength + 1)
        var length = 0
        while length < bytes.count {
            let count = bytes[length...].withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SecretFileError(path: path, code: errno) }
            guard count > 0 else { break }
            length += count
        }
        guard length <= maxLength else { throw SecretFileError(path: path, reason: "it is over \(maxLength) bytes") }
        bytes.removeSubrange(length...)
        while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard bytes.count >= minLength else {
            throw SecretFileError(
                path: path, reason: "it has \(bytes.count) bytes, and needs at least \(minLength)")
        }
        return bytes
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(SecretFileError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SecretFileError(path: path, code: errno) }
        defer { close(descriptor) }
        // A few bytes into an empty file are written completely or not at all.
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            let code = errno
            unlink(path)
            throw SecretFileError(path: path, code: code)
        }
    }

    private static func syncDirectory(of path: String) throws(SecretFileError) {
        let directory = path.lastIndex(of: "/").map { path[...$0] } ?? "."
        let descriptor = open(String(directory), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SecretFileError(path: String(directory), code: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw SecretFileError(path: String(directory), code: errno) }
    }
}

/// The reason why a secret can be neither read nor created, in a line for the operator.
public struct SecretFileError: Error, Equatable, CustomStringConvertible {
    public let path: String
    public let reason: String

    init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    init(path: String, code: Int32) { self.init(path: path, reason: String(cString: strerror(code))) }

    public var description: String { "the secret file \(path) cannot be used: \(reason)" }
}
