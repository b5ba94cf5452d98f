import Foundation
import TestClients

/// The log of the fake Apple server: a line for each request, with the number of its connection and
/// its provider token.
struct NotificationLog {
    private(set) var requests = 0
    private(set) var connections: Set<String> = []
    private(set) var tokens: Set<String> = []
    private let file: FileHandle
    private var unfinished = ""

    init(_ path: String) throws(ClientError) {
        guard let file = FileHandle(forReadingAtPath: path) else { throw ClientError("\(path) cannot be read") }
        self.file = file
    }

    /// Reads the lines written since the last call.
    mutating func read() {
        unfinished += String(decoding: file.availableData, as: UTF8.self)
        let lines = unfinished.split(separator: "\n", omittingEmptySubsequences: false)
        for line in lines.dropLast() {
            requests += 1
            connections.insert(String(line.prefix { $0 != " " }))
            tokens.insert(String(line.drop { $0 != " " }))
        }
        unfinished = String(lines.last ?? "")
    }
}
