import Foundation
import ParlorClient
import Testing

@Suite("Display")
struct DisplayTests {
    @Test(
        "badges show nothing for zero, and 99+ above 99",
        arguments: [(-1, nil), (0, nil), (1, "1"), (99, "99"), (100, "99+")])
    func badges(count: Int, text: String?) {
        #expect(BadgeText.text(count) == text)
    }

    @Test("a room's title is its name, its people, or a text for unnamed rooms")
    func titles() {
        var room = Given.room("r")
        #expect(room.title() == "me & bob")
        room.name = "Kitchen"
        #expect(room.title() == "Kitchen")
        (room.name, room.displayName) = ("", " ")
        #expect(room.title() == "Unnamed room")
        #expect(room.title(unnamed: "Sans nom") == "Sans nom")
    }

    @Test(
        "times are now, minutes, hours of the same day, yesterday, or a date",
        arguments: [
            (-30, "now"), (59, "now"), (60, "1 min"), (3599, "59 min"), (3600, "1 h"), (9 * 3600, "9 h"),
            (10 * 3600, "yesterday"), (33 * 3600, "yesterday"), (34 * 3600, "date"),
        ] as [(Double, String)])
    func times(secondsAgo: Double, text: String) throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        let now = Date(timeIntervalSince1970: 1_734_428_700)  // 2024-12-17T09:45:00Z
        let time = RelativeTime(of: now.addingTimeInterval(-secondsAgo), now: now, calendar: calendar)
        #expect(time.text { _ in "date" } == text)
    }

    @Test("shortly after midnight, minutes are still minutes")
    func midnight() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "Europe/Berlin"))
        let now = Date(timeIntervalSince1970: 1_734_390_600)  // 2024-12-17T00:10:00+01:00
        #expect(RelativeTime(of: now.addingTimeInterval(-1800), now: now, calendar: calendar) == .minutes(30))
        #expect(RelativeTime(of: now.addingTimeInterval(-7200), now: now, calendar: calendar) == .yesterday)
    }
}
