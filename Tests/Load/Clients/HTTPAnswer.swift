import JSON

/// A response that has come whole.
struct HTTPAnswer: Sendable {
    let status: Int
    let fields: [(name: String, value: String)]
    let body: [UInt8]

    /// All values of the fields with a name, which is in lower case.
    func values(of name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    /// What stands under `data`.
    ///
    /// - Throws: if the call failed, or the body is not the contract's.
    func data() throws(BenchError) -> JSONValue {
        guard (200..<300).contains(status) else {
            throw BenchError("the server answered \(status): \(String(decoding: body.prefix(200), as: UTF8.self))")
        }
        do throws(JSONError) {
            guard let data = try JSONValue(parsing: body)["data"] else { throw JSONError(offset: 0, reason: "no data") }
            return data
        } catch {
            throw BenchError("the server answered \(status), but \(error)")
        }
    }
}
