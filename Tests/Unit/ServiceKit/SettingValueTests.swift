import Testing

@testable import ParlorServiceKit

@Suite("values of settings")
struct SettingValueTests {
    @Test(
        "times are accepted in each unit",
        arguments: [
            ("0", 0), ("0s", 0), ("1h", 3_600_000), ("1d", 86_400_000), ("007m", 420_000),
            ("9223372036854775807ms", Int.max),
        ])
    func durations(text: String, milliseconds: Int) {
        #expect(Duration(setting: text)?.milliseconds == milliseconds)
    }

    @Test(
        "a malformed time is refused",
        arguments: [
            "", "s", "-1s", "+1s", "1S", "1 s", "1.5s", "1sec", "1s ", "١s", "9223372036854775808",
            "9223372036854775807s",
        ])
    func noDurations(text: String) {
        #expect(Duration(setting: text) == nil)
    }

    @Test("milliseconds are cut off")
    func cutOff() {
        #expect(Duration.microseconds(1_999).milliseconds == 1)
        #expect(Duration.seconds(-2).milliseconds == -2000)
    }

    @Test(
        "a malformed size is refused", arguments: ["", "k", "-1k", "1K", "1 m", "1t", "1.5m", "9223372036854775807k"])
    func noSizes(text: String) {
        #expect(Int(setting: text) == nil)
    }

    @Test("a rate's two times may differ")
    func windows() {
        let rate = Rate(setting: "60/10s,600/1m")
        #expect(rate?.perPerson == 60)
        #expect(rate?.personWindow == .seconds(10))
        #expect(rate?.perAddress == 600)
        #expect(rate?.addressWindow == .seconds(60))
    }

    @Test(
        "a malformed rate is refused",
        arguments: [
            "", ",", "1/1s", "1/1s,", "1/1s/1s,1/1s", "a/1s,1/1s", "1/1s,1/0", "1/,1/1s",
            "99999999999999999999/1s,1/1s", "1/367d,1/1s", "1/1s,1/60000d", "1/1s,1024m/1s",
        ])
    func noRates(text: String) {
        #expect(Rate(setting: text) == nil)
    }

    @Test("rates of several limits are read by their names")
    func ratesByName() {
        let rates = SettingKind<[String: Rate]>.rates(except: ["sends"]).read("polls=60/10s,600/10s;votes=9/1m,90/1m")
        #expect(rates?["polls"]?.perPerson == 60 && rates?["votes"]?.perAddress == 90 && rates?.count == 2)
    }

    @Test(
        "malformed rates by name are refused",
        arguments: [
            "polls", "polls=", "=1/1s,1/1s", "a=1/1s,1/1s;", "a=1/1s,1/1s;a=2/1s,2/1s", "a b=1/1s,1/1s", "a=1",
            "sends=1/1s,1/1s",
        ])
    func noRatesByName(text: String) {
        #expect(SettingKind<[String: Rate]>.rates(except: ["sends"]).read(text) == nil)
    }
}
