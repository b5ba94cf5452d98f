import CFuzzer
import Glibc

// FUZZ_TARGET=NAME parlor-fuzz [libFuzzer's flags] [CORPUS…]; without a name, it lists the targets. By the environment, for
// libFuzzer starts itself again with the same arguments when it merges corpora or makes an input smaller.
guard let target = Campaign.target else {
    for target in FuzzTarget.all { print(target.name, target.maxLength) }
    exit(getenv("FUZZ_TARGET") == nil ? 0 : 2)
}
atexit { Campaign.report() }
var count = CommandLine.argc
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
exit(
    LLVMFuzzerRunDriver(&count, &arguments) { bytes, length in
        Campaign.run(Array(UnsafeBufferPointer(start: bytes, count: length)))
        return 0
    })
