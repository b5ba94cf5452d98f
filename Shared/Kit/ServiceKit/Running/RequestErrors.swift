import ParlorContracts
import ParlorLogging
import ParlorMessageBus
import ParlorStorage

/// What the errors of a service's handlers are to their callers.
struct RequestErrors: Sendable {
    let failures: Counter
    let log: Logger

    /// Converts an error to a `ServiceError`. An error of another type is logged here, unless it is overload or text
    /// that cannot be stored. The caller sees no details of an unexpected error, only that the request failed.
    func translated(_ error: any Error, _ subject: String, _ requestID: String) -> ServiceError {
        if let error = error as? ServiceError {
            if error.code.isRetryable, error.code != .rateLimited { failures.add() }
            return error
        }
        failures.add()
        // The record has changed again and again, or Rooms has an older one than the fence, after a restored backup.
        if error is StaleMembership {
            log.warning("a room has no record that its fence allows", ["request": requestID])
            return .unavailable("This room")
        }
        if let error = error as? StorageError, error.isRetryable {
            // Overload is only counted, as a line for each would add to it.
            if error != .overloaded {
                log.warning(
                    "storage refused a request",
                    ["subject": subject, "error": "\(error)", "request": requestID])
            }
            return .unavailable("Storage")
        }
        if case StorageError.unstorableText = error {
            return ServiceError(.invalidField, "There are control characters in the text.")
        }
        if error is BusError {
            log.warning(
                "the bus failed during a request",
                ["subject": subject, "error": "\(error)", "request": requestID])
            return .unavailable("A part of the service")
        }
        log.error(
            "a request failed",
            ["subject": subject, "error": Self.name(of: error), "request": requestID])
        return ServiceError(.internal, "Something went wrong on our side.")
    }

    /// Returns an error's description for a log. A description written for the error type may be shown; the
    /// one that Swift derives shows all its values, which may be a person's.
    private static func name(of error: any Error) -> String {
        if error is StorageError || error is any CustomStringConvertible { return "\(error)" }
        let mirror = Mirror(reflecting: error)
        guard mirror.displayStyle == .enum else { return "\(type(of: error))" }
        return "\(type(of: error)).\(mirror.children.first?.label ?? "\(error)")"
    }
}
