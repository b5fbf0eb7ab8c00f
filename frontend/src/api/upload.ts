// Upload of a file to the workspace with progress, by XMLHttpRequest because fetch does not report it.
import { ApiError, csrfToken, problemIn } from './http';
import type { WorkspaceFile } from './types';

export function upload(file: File, onProgress: (share: number) => void, signal: AbortSignal): Promise<WorkspaceFile> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    form.append('file', file, file.name || 'pasted.png');
    request.open('POST', '/api/files');
    request.setRequestHeader('X-CSRFToken', csrfToken());
    request.responseType = 'json';
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onload = () =>
      request.status === 201
        ? resolve(request.response as WorkspaceFile)
        : reject(problemIn(request.status, request.response));
    request.onerror = () => reject(new ApiError(0, 'offline', ''));
    request.onabort = () => reject(new DOMException('', 'AbortError'));
    signal.addEventListener('abort', () => request.abort());
    request.send(form);
  });
}
