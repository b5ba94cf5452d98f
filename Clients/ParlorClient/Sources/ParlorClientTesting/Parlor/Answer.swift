import ParlorClient

extension Parlor {
    /// The answer to a request.
    struct Answer {
        var status: Int
        var data: JSON
        /// The cursor of the next page: `.some(nil)` on the last page, nil if the answer is not a page.
        var next: String??
        /// True if the `tempId` was used before, so nothing was stored.
        var isDuplicate = false

        init(_ status: Int, _ data: JSON = .null, next: String?? = nil, isDuplicate: Bool = false) {
            self.status = status
            self.data = data
            self.next = next
            self.isDuplicate = isDuplicate
        }
    }

    /// Returns the query's `limit`, clamped to 1...max; `standard` if it has none.
    static func limit(_ query: [String: String], standard: Int, max: Int) throws(Refused) -> Int {
        guard let text = query["limit"] else { return standard }
        guard let limit = Int(text) else { throw .malformed("limit is not a number.") }
        return Swift.min(Swift.max(limit, 1), max)
    }

    static func integer(_ name: String, _ query: [String: String]) throws(Refused) -> Int? {
        guard let text = query[name] else { return nil }
        guard let value = Int(text) else { throw .malformed("\(name) is not a number.") }
        return value
    }
}

extension JSON {
    /// Returns a required member. It has to be a string without control characters other than tabs and line breaks.
    func required(_ name: String) throws(Parlor.Refused) -> String {
        guard let value = member(name) else { throw .invalid(name, "is missing") }
        guard let text = value.string else { throw .malformed("\(name) is not a string.") }
        // C0, DEL and C1, as on the server.
        let isForbidden = { (scalar: Unicode.Scalar) in
            scalar.properties.generalCategory == .control && !"\n\t\r".unicodeScalars.contains(scalar)
        }
        guard !text.unicodeScalars.contains(where: isForbidden) else {
            throw .invalid(name, "has control characters")
        }
        return text
    }

    func tempID() throws(Parlor.Refused) -> String? {
        guard member("tempId") != nil else { return nil }
        let text = try required("tempId")
        guard (1...64).contains(text.unicodeScalars.count) else {
            throw .invalid("tempId", "must have 1 to 64 characters")
        }
        return text
    }

    func strings(_ name: String) throws(Parlor.Refused) -> [String] {
        guard let value = member(name) else { throw .invalid(name, "is missing") }
        guard let texts = value.array?.map(\.string) else { throw .malformed("\(name) is not a list.") }
        guard (1...500).contains(texts.count) else { throw .invalid(name, "must have 1 to 500 ids") }
        let known = texts.compactMap(\.self)
        guard known.count == texts.count else { throw .malformed("\(name) has something that is not a string.") }
        return known
    }
}
