"""Writes the image files of this folder with libraries that are independent of this project.

    pip install numpy pillow tifffile imagecodecs nibabel pydicom
    python3 make.py

Sample i, j, k, c (x, y, z, channel) of every file is (7 i + 13 j + 29 k + 53 c + 1) mod 251, for types of more than 8 bits times a
factor, less 100 for signed types; see formats.test.ts. Generated numbers: there is nothing to license.
"""
import struct
import numpy as np
import nibabel as nib
import pydicom
import tifffile
from PIL import Image
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import (DeflatedExplicitVRLittleEndian, ExplicitVRBigEndian, ExplicitVRLittleEndian,
                         ImplicitVRLittleEndian, RLELossless)


def samples(shape, dtype, factor=1, offset=0):
    """Axes z, y, x, c."""
    k, j, i, c = np.indices(shape)
    return (((7 * i + 13 * j + 29 * k + 53 * c + 1) % 251) * factor + offset).astype(dtype)


def plane(w, h, dtype, channels=1, **kw):
    a = samples((1, h, w, channels), dtype, **kw)[0]
    return a[..., 0] if channels == 1 else a


def png():
    Image.fromarray(plane(13, 7, np.uint8)).save('gray8.png')
    Image.fromarray(plane(13, 7, np.uint8, 3)).save('rgb8.png')
    Image.fromarray(plane(13, 7, np.uint8, 4)).save('rgba8.png')
    Image.fromarray(plane(13, 7, np.uint8, 2)).save('la8.png')
    Image.fromarray(plane(13, 7, np.uint16, factor=261)).save('gray16.png')
    Image.fromarray(plane(13, 7, np.uint8) % 2 == 1).save('gray1.png')
    indexed = Image.fromarray(plane(13, 7, np.uint8) % 5)
    indexed.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150])
    indexed.save('palette.png', bits=4)


def tiff():
    def save(name, data, **kw):
        tifffile.imwrite(name, data, metadata=None, software=None, datetime=None, **kw)
    stack = lambda dtype, **kw: samples((3, 7, 13, 1), dtype, **kw)[..., 0]
    save('uint8.tif', plane(13, 7, np.uint8), photometric='minisblack')
    save('uint16-stack.tif', stack(np.uint16, factor=261), photometric='minisblack')
    save('int16-stack.tif', stack(np.int16, factor=100, offset=-100), photometric='minisblack')
    save('int8.tif', plane(13, 7, np.int8, offset=-100) , photometric='minisblack')
    save('uint32.tif', plane(13, 7, np.uint32, factor=10_000_000), photometric='minisblack')
    save('int32-big-endian.tif', plane(13, 7, np.int32, factor=8_000_000, offset=-100), photometric='minisblack', byteorder='>')
    save('float32-zlib-predictor.tif', stack(np.float32, factor=0.25), photometric='minisblack', compression='zlib', predictor=True)
    save('float64-big-endian.tif', plane(13, 7, np.float64, factor=0.1), photometric='minisblack', byteorder='>')
    save('rgb8-lzw-predictor.tif', plane(13, 7, np.uint8, 3), photometric='rgb', compression='lzw', predictor=True)
    save('uint16-lzw.tif', plane(130, 70, np.uint16, factor=261), photometric='minisblack', compression='lzw')
    save('rgb8-planar.tif', np.moveaxis(plane(13, 7, np.uint8, 3), -1, 0), photometric='rgb', planarconfig='separate')
    save('rgba8.tif', plane(13, 7, np.uint8, 4), photometric='rgb', extrasamples=['unassalpha'])
    save('uint8-packbits.tif', plane(13, 7, np.uint8) // 64, photometric='minisblack', compression='packbits')
    save('uint16-tiled-zlib.tif', plane(37, 21, np.uint16, factor=261), photometric='minisblack', compression='zlib', predictor=True, tile=(16, 16))
    save('white-is-zero.tif', plane(13, 7, np.uint8), photometric='miniswhite')
    save('strips.tif', plane(13, 7, np.uint8), photometric='minisblack', rowsperstrip=3)
    tifffile.imwrite('imagej-stack.tif', stack(np.uint16, factor=261), imagej=True)
    save('jpeg.tif', plane(16, 16, np.uint8), photometric='minisblack', compression='jpeg')
    save('big.tif', plane(13, 7, np.uint8), photometric='minisblack', bigtiff=True)


AFFINE = np.array([[-2, 0, 0.5, 10], [0, 3, 0, -20], [0.25, 0, 4, 30], [0, 0, 0, 1]], float)


def nifti():
    def volume(dtype, factor=1, offset=0, extra=()):
        a = samples((5, 7, 11, 1), dtype, factor, offset)[..., 0]
        return np.ascontiguousarray(a.transpose(2, 1, 0))
    kinds = {'int8': (np.int8, 0.5, -60), 'uint8': (np.uint8, 1, 0), 'int16': (np.int16, 100, -100), 'uint16': (np.uint16, 261, 0),
             'int32': (np.int32, 8_000_000, -100), 'uint32': (np.uint32, 10_000_000, 0), 'int64': (np.int64, 2 ** 40, -100),
             'uint64': (np.uint64, 2 ** 50, 0), 'float32': (np.float32, 0.25, 0), 'float64': (np.float64, 0.1, 0)}
    for name, (dtype, factor, offset) in kinds.items():
        data = volume(dtype, factor, offset) if name != 'int8' else (volume(np.float64) // 2 - 60).astype(np.int8)
        nib.save(nib.Nifti1Image(data, AFFINE, dtype=dtype), f'{name}.nii')
    scaled = nib.Nifti1Image(volume(np.int16), AFFINE)
    scaled.header.set_slope_inter(0.5, -10)
    scaled.header['descrip'] = b'scaled by half'
    scaled.header.extensions.append(nib.nifti1.Nifti1Extension('comment', b'kept as it is'))
    nib.save(scaled, 'scaled.nii.gz')
    header = nib.Nifti1Header(endianness='>')
    header.set_data_dtype(np.int16)
    nib.save(nib.Nifti1Image(volume(np.int16, 100, -100), AFFINE, header), 'big-endian.nii')
    nib.save(nib.Nifti2Image(volume(np.float32, 0.25), AFFINE), 'second.nii')
    series = np.stack([volume(np.int16) + 1000 * t for t in range(4)], axis=-1)
    nib.save(nib.Nifti1Image(series.astype(np.int16), AFFINE), 'series.nii.gz')
    turned = nib.Nifti1Image(volume(np.uint8), None)
    turned.set_qform(nib.affines.from_matvec(np.array([[0, -2, 0], [0, 0, 3], [-4, 0, 0]], float), [1, 2, 3]), 1)
    turned.set_sform(None, 0)
    nib.save(turned, 'qform.nii')
    np.save('qform-affine.npy', turned.affine)
    rgb = np.zeros((11, 7, 5), [('R', 'u1'), ('G', 'u1'), ('B', 'u1')])
    for c, name in enumerate('RGB'):
        rgb[name] = samples((5, 7, 11, 3), np.uint8)[..., c].transpose(2, 1, 0)
    nib.save(nib.Nifti1Image(rgb, AFFINE), 'rgb.nii')
    nib.save(nib.Nifti1Image(volume(np.complex64), AFFINE), 'complex.nii')


def slice_file(name, data, syntax, z=0.0, number=1, signed=False, stored=16, **fields):
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = '1.2.840.10008.5.1.4.1.1.7'
    meta.MediaStorageSOPInstanceUID = f'1.2.3.4.{number}'
    meta.TransferSyntaxUID = syntax
    ds = FileDataset(name, {}, file_meta=meta, preamble=b'\0' * 128)
    ds.SOPClassUID, ds.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
    ds.SeriesInstanceUID, ds.InstanceNumber, ds.Modality = '1.2.3.4', number, 'OT'
    ds.Rows, ds.Columns = data.shape[0], data.shape[1]
    ds.SamplesPerPixel = 3 if data.ndim == 3 else 1
    ds.PhotometricInterpretation = 'RGB' if data.ndim == 3 else 'MONOCHROME2'
    ds.BitsAllocated = 8 * data.dtype.itemsize
    ds.BitsStored, ds.HighBit, ds.PixelRepresentation = stored, stored - 1, int(signed)
    ds.PixelSpacing, ds.SliceThickness = [2, 3], 4
    ds.ImageOrientationPatient, ds.ImagePositionPatient = [1, 0, 0, 0, 1, 0], [10, 20, z]
    for key, value in fields.items():
        setattr(ds, key, value)
    big = syntax == ExplicitVRBigEndian
    ds.PixelData = data.astype(data.dtype.newbyteorder('>' if big else '<')).tobytes()
    ds['PixelData'].VR = 'OB' if ds.BitsAllocated == 8 else 'OW'
    if syntax == RLELossless:
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        ds.compress(RLELossless)
    pydicom.dcmwrite(name, ds, enforce_file_format=True)


def dicom():
    import os
    os.makedirs('series', exist_ok=True)
    volume = samples((4, 7, 11, 1), np.int16, 10, -100)[..., 0]
    for name, k in zip('dacb', range(4)):  # the names do not say the order
        slice_file(f'series/{name}.dcm', volume[k], ExplicitVRLittleEndian, z=5.0 * k - 7, number=9 - k, signed=True,
                   RescaleSlope='0.5', RescaleIntercept='-10')
    slice_file('implicit.dcm', plane(11, 7, np.uint16), ImplicitVRLittleEndian, stored=12)
    slice_file('big-endian.dcm', plane(11, 7, np.uint16, factor=261), ExplicitVRBigEndian)
    slice_file('rgb.dcm', plane(11, 7, np.uint8, 3), ExplicitVRLittleEndian, stored=8, PlanarConfiguration=0)
    overlay = plane(11, 7, np.uint16) | 0xf000
    slice_file('overlay.dcm', overlay, ExplicitVRLittleEndian, stored=12)
    slice_file('run-lengths.dcm', plane(11, 7, np.uint16), RLELossless)
    slice_file('deflated.dcm', plane(11, 7, np.uint16), DeflatedExplicitVRLittleEndian)


def npy():
    np.save('uint16.npy', samples((3, 7, 13, 1), np.uint16, 261)[..., 0])
    np.save('colour.npy', plane(13, 7, np.float32, 3))
    np.save('fortran.npy', np.asfortranarray(plane(13, 7, np.float32)))


if __name__ == '__main__':
    png(), tiff(), nifti(), dicom(), npy()
