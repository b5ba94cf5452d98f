import ParlorContracts
import ParlorEventLog
import ParlorJSON

// A cursor of 0.1.0 is JSON. Remove this file in 0.3.0.
extension SyncCursor {
    init?(older bytes: ArraySlice<UInt8>) {
        guard let object = try? JSONValue(parsing: bytes).object else { return nil }
        var logs: [LogID: LogState] = [:]
        for (name, value) in object.all {
            guard let logID = LogID(name: name), let members = value.object, let position = LogPosition(members) else {
                return nil
            }
            logs[logID] = LogState(position: position, taken: members["taken"]?.int ?? 0)
        }
        self.init(logs: logs)
    }
}
