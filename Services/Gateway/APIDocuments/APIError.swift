import ParlorContracts
import ParlorJSON

/// The forms of failures.
enum APIError {
    /// The schema of an HTTP failure, in the form of the contract.
    static let schema = Schema.named(
        "Error",
        .object([
            "error": .object([
                "code": Schema.string.noted(
                    "For the client to act on. If the client does not know the code, it acts on the status."),
                "message": Schema.string.noted("For a person."), "requestId": .string,
            ])
        ]))

    /// - Parameter codes: the codes that can occur; empty if every code can occur.
    static func schema(of codes: [String]) -> Schema {
        guard !codes.isEmpty else { return schema }
        return .allOf([schema, .object(["error": .object(["code": .choice(codes)])])])
    }

    /// The schema of a failure in an ack.
    static let ack = Schema.named(
        "AckFailure",
        .object([
            "success": .constant(JSONValue(false)),
            "error": .object(["code": .string, "message": .string, "retryable": .boolean]),
        ]))
}
