// Loaded before a program: tells on stderr how much memory it has taken at most, in KiB.
process.on('exit', () => require('node:fs').writeSync(2, `peak ${process.resourceUsage().maxRSS}\n`))
