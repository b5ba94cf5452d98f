import ParlorJSON

/// A complete response.
package struct HTTPAnswer: Sendable {
    package let status: Int
    package let fields: [(name: String, value: String)]
    package let body: [UInt8]

    /// Returns all values of the fields with a name, which is in lower case.
    package func values(of name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    /// Returns the body's `data`.
    ///
    /// - Throws: if the call failed, or the body violates the contract.
    package func data() throws(ClientError) -> JSONValue {
        guard (200..<300).contains(status) else {
            throw ClientError("the server answered \(status): \(String(decoding: body.prefix(200), as: UTF8.self))")
        }
        do throws(JSONError) {
            guard let data = try JSONValue(parsing: body)["data"] else { throw JSONError(offset: 0, reason: "no data") }
            return data
        } catch {
            throw ClientError("the server answered \(status), but \(error)")
        }
    }
}
