import MessageBus
import Storage

// Settings of more than one program. Those of one service are in its own declaration.

extension Setting where Value == String {
    public static var host: Setting {
        Setting("HOST", .text, default: "127.0.0.1", "The address to listen on")
    }
    public static var data: Setting {
        Setting("DATA_DIR", flag: "--data", .path, default: "./data", "The folder for databases and secrets")
    }
}

extension Setting where Value == String? {
    public static var busTokenFile: Setting {
        Setting("BUS_TOKEN_FILE", .path, "File with the token for the bus; default: none")
    }
    public static var databaseURL: Setting {
        Setting(
            "DATABASE_URL", .text,
            "Database address: sqlite:FILE, sqlite:FOLDER/ or postgres://USER@HOST/DATABASE; default: a file in the data folder"
        )
    }
    public static var jwtSecretFile: Setting {
        Setting(
            "JWT_SECRET_FILE", .path,
            "File with the key that signs tokens; default: jwt.secret in the data folder, created on first start")
    }
    static var clockOffsetFile: Setting {
        Setting(
            "CLOCK_OFFSET_FILE", .path,
            "File with the offset of this process's clock, in milliseconds; for tests only")
    }
}

extension Setting where Value == UInt16 {
    public static var port: Setting {
        Setting("PORT", .port, default: "8080", "The port to listen on; 0 picks a free one")
    }
}

extension Setting where Value == Bool {
    public static var rateLimits: Setting {
        Setting(
            "RATE_LIMITS", .onOrOff, default: "on",
            "Rate limits and quotas per person and address; off is for tests")
    }
}

extension Setting where Value == Int {
    public static var loops: Setting {
        Setting("LOOPS", .number(0...256), default: "0", "Number of event loops, each a thread; 0: one per core")
    }
}

extension Setting where Value == BusURL {
    static var bus: Setting {
        Setting(
            "BUS_URL", flag: "--bus", .bus, default: "tcp://127.0.0.1:4150",
            "Address of the bus: tcp://HOST:PORT, or nats://HOST:PORT for a NATS server")
    }
}

extension Setting where Value == CrashPoint? {
    static var crashAt: Setting {
        Setting(
            "CRASH_AT", .crashPoint,
            "Kill the process at this point, such as after-commit:37; for recovery tests only")
    }
}

extension Setting where Value == Logger.Level {
    static var logLevel: Setting {
        Setting(
            "LOG_LEVEL", .choice(Logger.Level.allCases) { $0.name }, default: "info",
            "Lowest level that is logged to standard error: debug, info, warning or error")
    }
}

extension Setting where Value == Logger.FormatChoice {
    static var logFormat: Setting {
        Setting(
            "LOG_FORMAT", .choice(Logger.FormatChoice.self), default: "auto",
            "Form of log lines: text, json, or auto (text on a terminal, JSON lines otherwise)")
    }
}
