// What gateways know of Push.

extension RateLimit {
    public static let ofPush = [
        RateLimit("devices", perPerson: 60, perAddress: 600, seconds: 60, "Devices registered or removed")
    ]
}
