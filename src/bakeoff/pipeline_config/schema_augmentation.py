"""Messages of that API about random changes of training examples."""

TABLE = """
message PreprocessingStep
  1 normalize_image NormalizeImage oneof=preprocessing_step
  2 random_horizontal_flip RandomHorizontalFlip oneof=preprocessing_step
  3 random_pixel_value_scale RandomPixelValueScale oneof=preprocessing_step
  4 random_image_scale RandomImageScale oneof=preprocessing_step
  5 random_rgb_to_gray RandomRGBtoGray oneof=preprocessing_step
  6 random_adjust_brightness RandomAdjustBrightness oneof=preprocessing_step
  7 random_adjust_contrast RandomAdjustContrast oneof=preprocessing_step
  8 random_adjust_hue RandomAdjustHue oneof=preprocessing_step
  9 random_adjust_saturation RandomAdjustSaturation oneof=preprocessing_step
  10 random_distort_color RandomDistortColor oneof=preprocessing_step
  11 random_jitter_boxes RandomJitterBoxes oneof=preprocessing_step
  12 random_crop_image RandomCropImage oneof=preprocessing_step
  13 random_pad_image RandomPadImage oneof=preprocessing_step
  14 random_crop_pad_image RandomCropPadImage oneof=preprocessing_step
  15 random_crop_to_aspect_ratio RandomCropToAspectRatio oneof=preprocessing_step
  16 random_black_patches RandomBlackPatches oneof=preprocessing_step
  17 random_resize_method RandomResizeMethod oneof=preprocessing_step
  18 scale_boxes_to_pixel_coordinates ScaleBoxesToPixelCoordinates oneof=preprocessing_step
  19 resize_image ResizeImage oneof=preprocessing_step
  20 subtract_channel_mean SubtractChannelMean oneof=preprocessing_step
  21 ssd_random_crop SSDRandomCrop oneof=preprocessing_step
  22 ssd_random_crop_pad SSDRandomCropPad oneof=preprocessing_step
  23 ssd_random_crop_fixed_aspect_ratio SSDRandomCropFixedAspectRatio oneof=preprocessing_step
  24 ssd_random_crop_pad_fixed_aspect_ratio SSDRandomCropPadFixedAspectRatio oneof=preprocessing_step
  25 random_vertical_flip RandomVerticalFlip oneof=preprocessing_step
  26 random_rotation90 RandomRotation90 oneof=preprocessing_step
  27 rgb_to_gray RGBtoGray oneof=preprocessing_step
  28 convert_class_logits_to_softmax ConvertClassLogitsToSoftmax oneof=preprocessing_step
  29 random_absolute_pad_image RandomAbsolutePadImage oneof=preprocessing_step
  30 random_self_concat_image RandomSelfConcatImage oneof=preprocessing_step
  31 autoaugment_image AutoAugmentImage oneof=preprocessing_step
  32 drop_label_probabilistically DropLabelProbabilistically oneof=preprocessing_step
  33 remap_labels RemapLabels oneof=preprocessing_step
  34 random_jpeg_quality RandomJpegQuality oneof=preprocessing_step
  35 random_downscale_to_target_pixels RandomDownscaleToTargetPixels oneof=preprocessing_step
  36 random_patch_gaussian RandomPatchGaussian oneof=preprocessing_step
  37 random_square_crop_by_scale RandomSquareCropByScale oneof=preprocessing_step
  38 random_scale_crop_and_pad_to_square RandomScaleCropAndPadToSquare oneof=preprocessing_step
  39 adjust_gamma AdjustGamma oneof=preprocessing_step
message NormalizeImage
  1 original_minval float
  2 original_maxval float
  3 target_minval float default=0
  4 target_maxval float default=1
message RandomHorizontalFlip
  1 keypoint_flip_permutation int32 repeated
  2 probability float default=0.5
message RandomPixelValueScale
  1 minval float default=0.9
  2 maxval float default=1.1
message RandomImageScale
  1 min_scale_ratio float default=0.5
  2 max_scale_ratio float default=2
message RandomRGBtoGray
  1 probability float default=0.1
message RandomAdjustBrightness
  1 max_delta float default=0.2
message RandomAdjustContrast
  1 min_delta float default=0.8
  2 max_delta float default=1.25
message RandomAdjustHue
  1 max_delta float default=0.02
message RandomAdjustSaturation
  1 min_delta float default=0.8
  2 max_delta float default=1.25
message RandomDistortColor
  1 color_ordering int32
message RandomJitterBoxes
  1 ratio float default=0.05
  2 jitter_mode RandomJitterBoxes.JitterMode default=DEFAULT
enum RandomJitterBoxes.JitterMode DEFAULT=0 EXPAND=1 SHRINK=2
enum RandomJitterBoxes.JitterMode EXPAND_SYMMETRIC=4 SHRINK_SYMMETRIC=5 EXPAND_SYMMETRIC_XY=6 SHRINK_SYMMETRIC_XY=7
message RandomCropImage
  1 min_object_covered float default=1
  2 min_aspect_ratio float default=0.75
  3 max_aspect_ratio float default=1.33
  4 min_area float default=0.1
  5 max_area float default=1
  6 overlap_thresh float default=0.3
  8 clip_boxes bool default=true
  7 random_coef float default=0
message RandomPadImage
  1 min_image_height int32
  2 min_image_width int32
  3 max_image_height int32
  4 max_image_width int32
  5 pad_color float repeated
message RandomCropPadImage
  1 min_object_covered float default=1
  2 min_aspect_ratio float default=0.75
  3 max_aspect_ratio float default=1.33
  4 min_area float default=0.1
  5 max_area float default=1
  6 overlap_thresh float default=0.3
  11 clip_boxes bool default=true
  7 random_coef float default=0
  8 min_padded_size_ratio float repeated
  9 max_padded_size_ratio float repeated
  10 pad_color float repeated
message RandomCropToAspectRatio
  1 aspect_ratio float default=1
  2 overlap_thresh float default=0.3
  3 clip_boxes bool default=true
message RandomBlackPatches
  1 max_black_patches int32 default=10
  2 probability float default=0.5
  3 size_to_image_ratio float default=0.1
message RandomResizeMethod
  1 target_height int32
  2 target_width int32
message ScaleBoxesToPixelCoordinates
message ResizeImage
  1 new_height int32
  2 new_width int32
  3 method ResizeImage.Method default=BILINEAR
enum ResizeImage.Method AREA=1 BICUBIC=2 BILINEAR=3 NEAREST_NEIGHBOR=4
message SubtractChannelMean
  1 means float repeated
message SSDRandomCrop
  1 operations SSDRandomCropOperation repeated
message SSDRandomCropOperation
  1 min_object_covered float
  2 min_aspect_ratio float
  3 max_aspect_ratio float
  4 min_area float
  5 max_area float
  6 overlap_thresh float
  8 clip_boxes bool default=true
  7 random_coef float
message SSDRandomCropPad
  1 operations SSDRandomCropPadOperation repeated
message SSDRandomCropPadOperation
  1 min_object_covered float
  2 min_aspect_ratio float
  3 max_aspect_ratio float
  4 min_area float
  5 max_area float
  6 overlap_thresh float
  13 clip_boxes bool default=true
  7 random_coef float
  8 min_padded_size_ratio float repeated
  9 max_padded_size_ratio float repeated
  10 pad_color_r float
  11 pad_color_g float
  12 pad_color_b float
message SSDRandomCropFixedAspectRatio
  1 operations SSDRandomCropFixedAspectRatioOperation repeated
  2 aspect_ratio float default=1
message SSDRandomCropFixedAspectRatioOperation
  1 min_object_covered float
  4 min_area float
  5 max_area float
  6 overlap_thresh float
  8 clip_boxes bool default=true
  7 random_coef float
message SSDRandomCropPadFixedAspectRatio
  1 operations SSDRandomCropPadFixedAspectRatioOperation repeated
  2 aspect_ratio float default=1
  3 min_padded_size_ratio float repeated
  4 max_padded_size_ratio float repeated
message SSDRandomCropPadFixedAspectRatioOperation
  1 min_object_covered float
  2 min_aspect_ratio float
  3 max_aspect_ratio float
  4 min_area float
  5 max_area float
  6 overlap_thresh float
  8 clip_boxes bool default=true
  7 random_coef float
message RandomVerticalFlip
  1 keypoint_flip_permutation int32 repeated
  2 probability float default=0.5
message RandomRotation90
  1 keypoint_rot_permutation int32 repeated
  2 probability float default=0.5
message RGBtoGray
message ConvertClassLogitsToSoftmax
  1 temperature float default=1
message RandomAbsolutePadImage
  1 max_height_padding int32
  2 max_width_padding int32
  3 pad_color float repeated
message RandomSelfConcatImage
  1 concat_vertical_probability float default=0.1
  2 concat_horizontal_probability float default=0.1
message AutoAugmentImage
  1 policy_name string default=v0
message DropLabelProbabilistically
  1 label int32
  2 drop_probability float default=1
message RemapLabels
  1 original_labels int32 repeated
  2 new_label int32
message RandomJpegQuality
  1 random_coef float default=0
  2 min_jpeg_quality int32 default=0
  3 max_jpeg_quality int32 default=100
message RandomDownscaleToTargetPixels
  1 random_coef float default=0
  2 min_target_pixels int32 default=300000
  3 max_target_pixels int32 default=500000
message RandomPatchGaussian
  1 random_coef float default=0
  2 min_patch_size int32 default=1
  3 max_patch_size int32 default=250
  4 min_gaussian_stddev float default=0
  5 max_gaussian_stddev float default=1
message RandomSquareCropByScale
  1 max_border int32 default=128
  2 scale_min float default=0.6
  3 scale_max float default=1.3
  4 num_scales int32 default=8
message RandomScaleCropAndPadToSquare
  1 output_size int32 default=512
  2 scale_min float default=0.1
  3 scale_max float default=2
message AdjustGamma
  1 gamma float default=1
  2 gain float default=1
"""
