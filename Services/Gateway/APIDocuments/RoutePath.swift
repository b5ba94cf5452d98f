/// A route's path in OpenAPI's form: `/api/rooms/{roomId}/name`.
struct RoutePath: Sendable {
    let template: String
    /// The parameters' names in order. A name that occurs twice gets a number.
    let parameters: [String]
    /// The same for paths that differ only in the names of parameters.
    let key: String

    /// - Parameter path: `/api/rooms/:roomId/name`, as a manifest has it.
    init(_ path: String) {
        var (template, key) = ("", "")
        var parameters: [String] = []
        for segment in path.split(separator: "/") {
            if segment.hasPrefix(":") {
                var name = Self.name(segment.dropFirst())
                while name.isEmpty || parameters.contains(name) { name += "_\(parameters.count + 1)" }
                parameters.append(name)
                template += "/{\(name)}"
                key += "/{}"
            } else {
                let literal = Self.escaped(segment)
                template += "/\(literal)"
                key += "/\(literal)"
            }
        }
        self.template = template.isEmpty ? "/" : template
        self.key = key
        self.parameters = parameters
    }

    private static func name(_ segment: Substring) -> String {
        segment.unicodeScalars.reduce(into: "") { text, scalar in
            let isPlain =
                scalar.isASCII && scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "_"
            text += isPlain ? String(scalar) : "_"
        }
    }

    /// Returns a segment with escapes: braces would be read as a parameter, and a question mark as the start of a
    /// query.
    private static func escaped(_ segment: Substring) -> String {
        segment.utf8.reduce(into: "") { text, byte in
            let isPlain = byte > 0x20 && byte < 0x7F && !"{}?#%\"\\".utf8.contains(byte)
            let hex = String(byte, radix: 16, uppercase: true)
            text += isPlain ? String(UnicodeScalar(byte)) : "%\(hex.utf8.count == 1 ? "0" : "")\(hex)"
        }
    }
}
