public let nameOfSecurity = "Security of another package"
