for (const url of process.argv.slice(2)) {
  console.log((await fetch(url)).status)
}
