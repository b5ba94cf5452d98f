/// A key that was made for these tests, and is used nowhere else.
enum ES256KeyText {
    static let pem = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgVHES6uAdQquW/Pv5
        0wdWv2y3QKVl64q80wYHIAloGL6hRANCAAQlHZQ9XJ1dZ7utyFo/+i2ktPKfcqlk
        +2HEMxFryrDmtgub7humptg4Ay74Fkn9wENE+MB3gldBvET9w0ef0qXW
        -----END PRIVATE KEY-----
        """
}
