import Foundation
import ParlorContracts
import ParlorJSON

// The rows of services that have tests of their own, from `Services/NAME/Tests/access.json`:
//
//     {"POST /api/rooms/:roomId/polls": {"scope": "room", "status": 201, "body": {"question": "x"}},
//      "poll:vote": {"scope": "room", "body": {"roomId": ":roomId", "choice": "x"}}}
//
// In a body, the value ":roomId" stands for the room's id, as ":messageId", ":elementId" and ":userId" do for others.
extension AccessMatrix {
    static func rows(besides own: [String: AccessRow]) -> [String: AccessRow] {
        own.merging(serviceRows) { own, _ in own }
    }

    private static let serviceRows: [String: AccessRow] = {
        let services = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Services")
        do {
            var rows: [String: AccessRow] = [:]
            for service in try FileManager.default.contentsOfDirectory(at: services, includingPropertiesForKeys: nil) {
                let file = service.appending(path: "Tests/access.json")
                guard FileManager.default.fileExists(atPath: file.path) else { continue }
                for (name, row) in try AccessMatrix.rows(in: file) { rows[name] = row }
            }
            return rows
        } catch {
            preconditionFailure("the services' access.json: \(error)")
        }
    }()

    private static func rows(in file: URL) throws -> [(String, AccessRow)] {
        try JSONValue(parsing: String(contentsOf: file, encoding: .utf8)).object?.all.map { name, json in
            guard let scope = json["scope"]?.string.flatMap(AccessRow.Scope.init) else {
                preconditionFailure("\(file.path): \(name) has no scope that is open, own, room or person")
            }
            let body = json["body"]?.text ?? ""
            return (name, AccessRow(scope, json["status"]?.int ?? 200) { $0.filled(into: body) })
        } ?? []
    }
}

extension Ids {
    fileprivate func filled(into body: String) -> String {
        [(":roomId", room), (":messageId", message), (":elementId", element), (":userId", person)]
            .reduce(body) { $0.replacing("\"\($1.0)\"", with: "\"\($1.1)\"") }
    }
}
