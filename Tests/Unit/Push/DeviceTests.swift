import ParlorContracts
import ParlorServiceKit
import Testing

@testable import ParlorPush

@Suite("Devices")
struct DeviceTests {
    @Test("the first registration is 201, a repeated one 200, and another environment's too")
    func registering() async throws {
        try await PushHarness.serving { harness in
            #expect(try await harness.register("token") == .created)
            #expect(try await harness.register("token") == .ok)
            #expect(try await harness.register("token", environment: "sandbox") == .ok)
            try await harness.unregister("token")
            #expect(try await harness.devices() == [])
            #expect(try await harness.register("token") == .created)
        }
    }

    @Test("a device belongs to the last person who registered it, and nobody else can remove it")
    func owner() async throws {
        try await PushHarness.serving { harness in
            _ = try await harness.register("token", by: PushHarness.ada)
            #expect(try await harness.register("token", by: PushHarness.ben) == .created)
            try await harness.unregister("token", by: PushHarness.ada)
            try await harness.unregister("unknown", by: PushHarness.ada)
            #expect(try await harness.devices(of: PushHarness.ada) == [])
            #expect(try await harness.devices(of: PushHarness.ben) == ["token"])
        }
    }

    @Test("a hexadecimal token in upper and in lower case is one device, and other tokens keep their case")
    func spelling() async throws {
        try await PushHarness.serving { harness in
            _ = try await harness.register("00abcdef", by: PushHarness.ada)
            #expect(try await harness.register("00ABCDEF", by: PushHarness.ada) == .ok)
            #expect(try await harness.register("00ABcdef", by: PushHarness.ben) == .created)
            #expect(try await harness.devices(of: PushHarness.ada) == [])
            #expect(try await harness.devices(of: PushHarness.ben) == ["00abcdef"])
            try await harness.unregister("00AbCdEf", by: PushHarness.ben)
            for token in ["Token", "token"] { #expect(try await harness.register(token) == .created) }
            #expect(try await harness.devices() == ["Token", "token"])
        }
    }

    @Test("a person has up to 25 devices: the least recently registered one is replaced")
    func limit() async throws {
        try await PushHarness.serving { harness in
            for number in 10..<35 {
                _ = try await harness.register("token-\(number)")
                harness.clock.advance(by: .seconds(1))
            }
            _ = try await harness.register("token-10")
            harness.clock.advance(by: .seconds(1))
            #expect(try await harness.register("token-99") == .created)
            let devices = try await harness.devices()
            #expect(devices.count == 25 && !devices.contains("token-11") && devices.contains("token-10"))
            #expect(try await harness.register("other", by: PushHarness.ada) == .created)
            #expect(try await harness.devices().count == 25)
        }
    }

    @Test(
        "an invalid device is refused with the name of the field",
        arguments: [
            (#""platform":"ios","environment":"sandbox""#, "token", ErrorCode.invalidField),
            (#""token":"","platform":"ios","environment":"sandbox""#, "token", .invalidField),
            (#""token":"with space","platform":"ios","environment":"sandbox""#, "token", .invalidField),
            (#""token":"é","platform":"ios","environment":"sandbox""#, "token", .invalidField),
            (#""token":5,"platform":"ios","environment":"sandbox""#, "token", .malformedRequest),
            (#""token":"t","environment":"sandbox""#, "platform", .invalidField),
            (#""token":"t","platform":"amiga","environment":"sandbox""#, "platform", .invalidField),
            (#""token":"t","platform":"ios""#, "environment", .invalidField),
            (#""token":"t","platform":"ios","environment":"nowhere""#, "environment", .invalidField),
        ])
    func refusals(json: String, field: String, code: ErrorCode) async throws {
        try await PushHarness.serving { harness in
            let error = try await harness.refusal("push.register", by: PushHarness.ben, json: "{\(json)}")
            #expect(error?.code == code)
            #expect(error?.message.contains(field) == true)
            let devices = try await harness.devices()
            #expect(devices.isEmpty)
        }
    }

    @Test("registering needs a signed-in person")
    func unauthenticated() async throws {
        try await PushHarness.serving { harness in
            for subject in ["push.register", "push.unregister"] {
                let error = try await harness.refusal(subject, by: nil, json: #"{"token":"t"}"#)
                #expect(error?.code == .unauthenticated)
            }
        }
    }
}
