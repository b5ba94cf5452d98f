import Glibc
import ParlorJSON
import TestClients

/// The rows as JSON: `{"command", "rows": [{"name", "figures": {name: value}, "faults"}]}`, times
/// in milliseconds.
enum ReportFile {
    static func write(_ rows: [Row], commandLine: [String], to path: String) throws(ClientError) {
        let bytes = JSONWriter.bytes { json in
            json.object {
                $0.member("command", commandLine.joined(separator: " "))
                $0.name("rows")
                $0.array(of: rows) { json, row in
                    json.object { write(row, to: &$0) }
                }
            }
        }
        try write(bytes, to: path)
    }

    static func write(_ bytes: [UInt8], to path: String) throws(ClientError) {
        guard let file = fopen(path, "w") else { throw ClientError("\(path) cannot be written") }
        let written = bytes.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, file) }
        guard fclose(file) == 0, written == bytes.count else { throw ClientError("\(path) cannot be written") }
    }

    private static func write(_ row: Row, to json: inout JSONWriter) {
        json.member("name", row.name)
        json.name("figures")
        json.object { json in
            for figure in row.figures {
                json.name(figure.name)
                json.number(figure.value)
            }
        }
        json.name("faults")
        json.array(of: row.faults) { $0.string($1) }
    }
}
