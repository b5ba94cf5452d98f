import Glibc

/// Cuts a stream of bytes into lines. Only a line that comes in pieces is copied.
package struct LineSplitter {
    private let maxLine: Int
    /// The beginning of a line whose end has not come.
    private var begun: [UInt8] = []

    package struct LineTooLong: Error {}

    /// - Parameter maxLine: counted with the newline.
    package init(maxLine: Int = BusLimits.maxLine) { self.maxLine = maxLine }

    /// Calls the body with each line that is complete now, without its newline. The bytes it gets are good until it
    /// returns.
    ///
    /// - Throws: when a line is longer than the limit, complete or not. The stream is of no use then.
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
