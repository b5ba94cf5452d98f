import Glibc

/// Splits a stream of bytes into lines. Only a line that arrives in pieces is copied.
package struct LineSplitter {
    private let maxLine: Int
    /// The beginning of an incomplete line.
    private var begun: [UInt8] = []
    /// The number of bytes of the incomplete line.
    package var begunBytes: Int { begun.count }

    package struct LineTooLong: Error { package init() {} }

    /// - Parameter maxLine: the limit of a line, including its newline.
    package init(maxLine: Int = BusLimits.maxLine) { self.maxLine = maxLine }

    /// Calls the body with each line that is complete now, without its newline. The bytes are valid until the
    /// body returns.
    ///
    /// - Throws: when a line is longer than the limit, complete or not. The stream cannot be used any more
    ///   then.
    package mutating func split(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(LineTooLong) {
        var rest = bytes
        while let base = rest.baseAddress, let newline = memchr(base, Int32(UInt8(ascii: "\n")), rest.count) {
            let length = UnsafeRawPointer(newline) - base
            guard begun.count + length < maxLine else { throw LineTooLong() }
            let line = UnsafeRawBufferPointer(start: base, count: length)
            if begun.isEmpty {
                body(line)
            } else {
                begun += line
                begun.withUnsafeBytes(body)
                begun = []
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[(length + 1)...])
        }
        guard begun.count + rest.count < maxLine else { throw LineTooLong() }
        begun += rest
    }
}
