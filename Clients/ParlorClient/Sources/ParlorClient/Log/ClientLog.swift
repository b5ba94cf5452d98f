import Foundation

#if canImport(os)
    import os
#endif

/// Receives what the library logs: connections, tokens, refused sends, catch-up and errors of the disk.
///
/// On Apple's systems ``system`` writes to the system's log, where `log stream --predicate 'subsystem ==
/// "ParlorClient"'` shows it. Elsewhere it writes nothing. An app that has a log of its own passes a closure, on every
/// system:
///
/// ```swift
/// settings.log = ClientLog { print($0.category, $0.text) }
/// ```
///
/// An entry never has the text of a message, the content of an element, a name or a token. Its values are ids of rooms
/// and requests, names of folders, codes of errors, the transport and the number of replayed events. They also say why
/// a connection was lost, in the library's or the system's words.
public struct ClientLog: Sendable {
    /// One thing that has happened.
    public struct Entry: Hashable, Sendable {
        public var level: Level
        public var category: Category
        /// What happened, in a few words without values, such as `disconnected`.
        public var event: String
        /// The values, such as the code of an error.
        public var values: [String: String]

        /// The event with its values, such as `disconnected code=offline`, sorted by name.
        public var text: String {
            ([event] + values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }).joined(separator: " ")
        }
    }

    public enum Level: String, Hashable, Sendable, CaseIterable {
        /// The normal course of things.
        case info
        /// Something failed that the library tries again.
        case warning
        /// Something failed for good: a message is refused, or the disk does not keep what it should.
        case error
    }

    /// The part of the library: the category in the system's log.
    public enum Category: String, Hashable, Sendable, CaseIterable {
        case connection, session, messages, boards, storage
    }

    private let write: @Sendable (Entry) -> Void

    /// - Parameter write: is called on any thread, in the middle of the library's work. It must return at once, and
    ///   must not call the library.
    public init(_ write: @escaping @Sendable (Entry) -> Void) { self.write = write }

    /// Drops everything.
    public static let none = ClientLog { _ in }

    /// The system's log on Apple's systems, with the subsystem `ParlorClient`. Elsewhere nothing is written.
    public static let system = makeSystem()

    private static func makeSystem() -> ClientLog {
        #if canImport(os)
            let loggers = Dictionary(
                uniqueKeysWithValues: Category.allCases.map {
                    ($0, Logger(subsystem: "ParlorClient", category: $0.rawValue))
                })
            return ClientLog { entry in
                let level: OSLogType =
                    switch entry.level {
                    case .info: .info
                    case .warning: .default
                    case .error: .error
                    }
                // The event has no values, so it may be read on every device. Values have ids of rooms.
                let values = entry.values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                loggers[entry.category]?.log(
                    level: level,
                    "\(entry.event, privacy: .public) \(values.joined(separator: " "), privacy: .private)")
            }
        #else
            return none
        #endif
    }

    func info(_ category: Category, _ event: String, _ values: [String: String] = [:]) {
        write(Entry(level: .info, category: category, event: event, values: values))
    }

    /// - Parameter failure: adds its values to those given.
    func warning(
        _ category: Category, _ event: String, _ values: [String: String] = [:], for failure: (any Error)? = nil
    ) {
        note(.warning, category, event, values, failure)
    }

    /// - Parameter failure: adds its values to those given.
    func error(
        _ category: Category, _ event: String, _ values: [String: String] = [:], for failure: (any Error)? = nil
    ) {
        note(.error, category, event, values, failure)
    }

    private func note(
        _ level: Level, _ category: Category, _ event: String, _ values: [String: String], _ failure: (any Error)?
    ) {
        let values = failure.map { values.merging(Self.values(of: $0)) { own, _ in own } } ?? values
        write(Entry(level: level, category: category, event: event, values: values))
    }

    /// Returns the values of a failure: its code, the reason of a lost connection, and the request id of a refusal. The
    /// server's words are left out, because a service may repeat in them what a person has written.
    private static func values(of failure: any Error) -> [String: String] {
        switch failure {
        case ClientFailure.offline(let reason): ["code": "offline", "reason": reason]
        case ClientFailure.refused(let refusal):
            ["code": refusal.code].merging(refusal.requestID.map { ["request": $0] } ?? [:]) { $1 }
        case let failure as ClientFailure: ["code": failure.code]
        case is CancellationError: ["code": "cancelled"]
        default:
            // The description of an error of the file system has the path, which is of no use elsewhere.
            ["code": "\((failure as NSError).domain) \((failure as NSError).code)"]
        }
    }
}
