import Foundation
import Testing

@testable import ParlorClient

@Suite("The server's times")
struct ServerDateTests {
    @Test(
        "times are parsed with and without a fraction, in any zone",
        arguments: [
            ("2024-12-17T09:45:00Z", 1_734_428_700.0), ("2024-12-17T09:45:00.123Z", 1_734_428_700.123),
            ("2024-12-17T09:45:00.5Z", 1_734_428_700.5), ("2024-12-17T09:45:00.123456Z", 1_734_428_700.123),
            ("2024-12-17T10:45:00+01:00", 1_734_428_700), ("2024-12-17T04:15:00.000-0530", 1_734_428_700),
            ("2024-12-17T09:45:00", 1_734_428_700), ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59.999Z", -0.001),
            ("2000-02-29T12:00:00Z", 951_825_600), ("2024-03-01T00:00:00Z", 1_709_251_200),
        ])
    func reads(text: String, seconds: Double) {
        #expect(ServerDate.parse(text) == Date(timeIntervalSince1970: seconds))
    }

    @Test(
        "other forms are rejected",
        arguments: [
            "", "2024", "2024-12-17", "2024-13-17T09:45:00Z", "2024-12-17T24:45:00Z", "2024-12-17T09:45:00.Z",
            "2024-12-17T09:45:00ZZ", "2024-12-17T09:45:00+1", "yesterday", "2024-12-17T09:60:00Z",
            "٢٠٢٤-12-17T09:45:00Z",
        ])
    func refuses(text: String) {
        #expect(ServerDate.parse(text) == nil)
    }

    @Test("parsing agrees with Foundation throughout a century")
    func everyDay() {
        let formatter = ISO8601DateFormatter()
        for day in stride(from: -20_000, to: 40_000, by: 7) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + 12_345)
            #expect(ServerDate.parse(formatter.string(from: date)) == date)
        }
    }
}
