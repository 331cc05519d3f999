// One page, one style sheet, scripts with a hash in their name. No inline script or style: the server forbids both.
import { defineConfig } from 'vite';

export default defineConfig({
  build: {
    outDir: '../build/web/dist',
    emptyOutDir: true,
    assetsDir: 'ui',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'], // those that know light-dark()
    license: { fileName: 'ui/licenses.txt' }, // of what is inside; the page Status leads there
    rollupOptions: { output: { entryFileNames: 'ui/[name]-[hash].js', chunkFileNames: 'ui/[name]-[hash].js' } },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:1853', '/actuator': 'http://127.0.0.1:1853' } },
});
