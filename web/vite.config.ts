import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// The page lies inside the Python package, whose wheel carries it. Nothing is inlined: the server's policy forbids it.
export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "../src/muniment/surfaces/web/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: false,
  },
  server: { proxy: Object.fromEntries(["/api", "/doc", "/raw", "/media"].map((path) => [path, "http://127.0.0.1:18820"])) },
});
